"""Which blocks and pages of a batch job repeat an earlier one: the same in a crawl of the records, one after the other.

plan.py        how the stages divide a job among tasks, and the names of the files between them
stages.py      each stage as a function on the rows of one partition
decisions.py   the decisions about the rows of a partition
near.py        all pairs of fingerprints within a few bits
pages.py       whole pages: what is compared of them, and the result
"""
