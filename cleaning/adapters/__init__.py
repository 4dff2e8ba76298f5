"""Our cleaning in what you run already. docs/extend.md shows each of these at work.

extract.py    a function with the arguments and the answers of `trafilatura.extract`
tables.py     functions for tables of pages: Ray Data and other readers of batches, pandas, Spark
many.py       many pages in several processes, `cleaning.clean_many`
datatrove.py  an extractor step of datatrove

All but many.py clean in the process that calls them, and no page has a limit of time or memory but `max_bytes`. Only
datatrove.py needs another library.
"""

from cleaning.adapters.extract import extract
from cleaning.adapters.tables import SPARK_SCHEMA, clean_batch, clean_frame

__all__ = ["SPARK_SCHEMA", "clean_batch", "clean_frame", "extract"]
