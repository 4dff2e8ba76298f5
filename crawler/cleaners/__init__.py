"""Cleaning in processes of its own (`CLEANING_PROCESSES`): several pages at once, and one that never ends is killed.

work.py        what is done with a page there, and what is loaded before the first one
process.py     the program that each of these processes runs
supervise.py   the crawl's side: one supervised process a slot

A page travels as its bytes, for trees cannot; it is parsed a second time there. The channel is a socket of which only
the crawl and that one process have the ends, so that a crawl that is gone, by whatever end, is noticed at once. The
time limit is an alarm of the kernel's that each process sets for itself: it needs nobody who is alive and idle, and
ends the process wherever it hangs. POSIX only.

Why not a pool from a library: the standard one cannot kill one process, and takes all down with the one that dies.
Those that can share one pipe and its locks between the processes, and one that is killed while it holds them stops
all; they take threads, and leave a process that hangs behind where the crawl is killed.
"""
