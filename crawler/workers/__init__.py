"""Cleaning in worker processes (setting CLEANING_PROCESSES): several pages at once; a worker that hangs is killed."""
