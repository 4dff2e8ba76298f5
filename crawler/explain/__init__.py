"""Why each block of one page was kept or dropped: `explain`, and `scrapy explain`."""

from crawler.explain.explained import Explained, Row, explain
from crawler.explain.page import page_html
from crawler.explain.repeats import Repeated

__all__ = ["Explained", "Repeated", "Row", "explain", "page_html"]
