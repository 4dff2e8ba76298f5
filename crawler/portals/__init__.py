"""The table of news sites that the spider `news` reads: its rows, where they come from, and what proves them."""

from crawler.portals.portal import Portal
from crawler.portals.table import chosen, read_table

__all__ = ["Portal", "chosen", "read_table"]
