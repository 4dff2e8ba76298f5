"""Rows of the database, or of a batch job, in files for other programs.

rows.py      the columns of blocks, pages and chunks, the queries that read them, and the cursor
formats.py   the writers of Parquet, JSON lines and CSV
export.py    one export: a file that appears complete or not at all
file.py      reads such a file back
"""
