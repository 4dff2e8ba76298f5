"""Batch jobs of a few pages: their settings, options and tables."""

from pyarrow import parquet
from scrapy.settings import Settings
from warcs import article, paragraph

from crawler.batch.job import BatchOptions, batch_settings
from crawler.config import Config

PDF = {"url": "https://a.example/pdf", "body": b"%PDF-1.4", "headers": (("Content-Type", "application/pdf"),)}
SHARED = [paragraph(f"shared {number}") for number in range(6)]


def settings(**changes):
    """Return the settings of a job."""
    own = Settings(changes)
    return batch_settings(Config.read(own), own)


def pages(start, count, host="a.example"):
    """Return pages with a text of their own, one that others have, and one that differs in its last word."""
    for number in range(start, start + count):
        shared = SHARED[number % len(SHARED)]
        near = f"{paragraph('near', 200).removesuffix('.')} {number}"
        yield f"https://{host}/{number}", article(f"Number {number}", paragraph(number), shared, near)


def options(tmp_path, *inputs, **more):
    """Return the options of a job in this process that writes to the folder `out`."""
    arguments = {"settings": settings(), "near_duplicates": True, "workers": 0} | more
    return BatchOptions(inputs=[str(path) for path in inputs], out=str(tmp_path / "out"), **arguments)


def rows(out, table):
    """Return the rows of a table of a job, file by file."""
    return [row for path in sorted((out / table).iterdir()) for row in parquet.read_table(path).to_pylist()]
