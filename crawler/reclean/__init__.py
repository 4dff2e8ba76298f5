"""Cleaning stored pages again (`scrapy reclean`), without the network.

bodies.py   where their bytes are: in the database, or in an archive
work.py     what a cleaning process does with one
run.py      from the first page to the last: read, cleaned in processes, stored in order
result.py   what came of it
"""
