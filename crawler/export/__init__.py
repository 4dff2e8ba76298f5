"""Exports: the blocks or pages of a database as a file, whole or what has changed since an earlier export."""

from crawler.export.columns import Content
from crawler.export.run import Exported, Order, export

__all__ = ["Content", "Exported", "Order", "export"]
