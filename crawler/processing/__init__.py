"""The three steps of a page: clean it, fingerprint it, store it.

Each step takes a visit and returns it with the next value of its page (see `crawler/visit.py`). Scrapy's item pipelines
(`pipelines/`) and the middleware for host projects (`crawler/cleaning_middleware.py`) run these steps. `scrapy reclean`
(`crawler/reclean.py`) runs the same cleaning, fingerprinting and storing on stored pages.
"""

from crawler.processing.page_steps import CleanStep, FingerprintStep, SiteTemplates
from crawler.processing.store_step import StoreStep
from crawler.processing.store_thread import StoreThread

__all__ = ["CleanStep", "FingerprintStep", "SiteTemplates", "StoreStep", "StoreThread"]
