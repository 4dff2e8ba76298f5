"""Clean archives of any size (`scrapy batch`): WARC and Parquet files in, the Parquet tables of a crawl's blocks out.

inputs.py      the input files, local or behind fsspec, in their order
warc/          the records of a WARC file, and what is damaged in it
records.py     the records of any input file, after the filters
clean_record.py  one record in a cleaning process: the three steps of a crawl without its network and database
clean_file.py  one input file: its cleaned pages and kept blocks, in the folder `work`
columns.py     the columns of all tables
output.py      the output folder: files that appear complete or not at all
engine.py      runs independent tasks in processes of this machine, or on Ray
duplicates/    which blocks and pages repeat an earlier one
job.py         the main flow: plan, clean each file, write the tables, sum up

A job is a list of tasks for each of its stages. A task reads files, writes files and returns counts, so an engine only
has to run it once to its end; a task that was interrupted is run again and gives the same files. Nothing is collected
in the process that drives the job.
"""
