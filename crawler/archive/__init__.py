"""What a crawl fetches, kept as it came in a WARC file (ARCHIVE), which the tools of archives read.

ending.py     where the records of a file end that was cut off
file.py       the file: locked, appended to, each write whole or not at all
records.py    a request and its response as two records, without secrets
recorder.py   the crawl's side
"""
