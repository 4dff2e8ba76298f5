"""What becomes of a visit's page, in order: `clean`, `dedup`, `store`.

Our own crawls know these classes by the names in `pipelines/`. The work is done here because a project of others may
have a package called `pipelines`, which hides ours (see `crawler/cleaning_middleware.py`).
"""
