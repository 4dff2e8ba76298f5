"""Second pipeline: kept blocks and their page get digests and fingerprints (`crawler/stages/dedup.py`)."""

from crawler.stages.dedup import DedupPipeline

__all__ = ["DedupPipeline"]
