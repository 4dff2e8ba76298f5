"""First pipeline: a fetched page becomes blocks with decisions (`crawler/stages/clean.py`)."""

from crawler.stages.clean import CleanPipeline

__all__ = ["CleanPipeline"]
