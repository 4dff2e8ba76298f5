"""Why each block of one page was kept or dropped: `explain`, and `scrapy explain`."""

from crawler.explain.explained import Dedup, Explained, Row, explain
from crawler.explain.page import page_html
from crawler.explain.repeats import Repeated

__all__ = ["Dedup", "Explained", "Repeated", "Row", "explain", "page_html"]
