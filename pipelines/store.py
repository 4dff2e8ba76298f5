"""Last pipeline: visits go to the database in batches, one transaction each (`crawler/stages/store.py`)."""

from crawler.stages.store import StorePipeline

__all__ = ["StorePipeline"]
