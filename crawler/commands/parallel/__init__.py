"""Several crawls by one command, in one process."""
