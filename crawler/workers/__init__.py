"""Cleaning in worker processes (CLEANING_PROCESSES): several pages at once, and a page that hangs is killed.

tasks.py    the tasks of workers, and the page that they are given
worker.py   the program of a worker process, and its messages
pool.py     the crawl's side: one supervised process for each slot

A page travels as its bytes, because trees cannot be sent; the worker parses it again. Each worker has its own socket
to the crawl, and no other process has an end. So a worker notices at once that the crawl is gone, however it ended.
The time limit is a kernel alarm that each worker sets for itself: it fires even if the crawl is busy or dead, and kills
the worker wherever it hangs. POSIX only.

Why no pool from a library: the standard library's cannot kill one process, and fails as a whole if one dies. Other
pools share a pipe and its locks among the workers: killing a worker that holds a lock blocks all of them. They also use
threads, and leave a hanging process behind when the crawl is killed.
"""
