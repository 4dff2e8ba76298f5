"""Rows of the database, or of a batch job, in files for other programs.

rows.py      the columns of blocks, pages and chunks, the queries that read them, and the cursor
formats.py   the writers of tables: Parquet, JSON lines, CSV, workbooks
corpora.py   the writers of documents for Dolma and of WET archives
dataset.py   a folder with a dataset card
forms.py     which writer a form (`--for`) has for the suffix of a file
job_tables.py  the rows of a finished batch job
export.py    one export: a file that appears complete or not at all
file.py      reads such a file back
"""
