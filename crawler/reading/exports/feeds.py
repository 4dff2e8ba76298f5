"""CSV feeds of crawls (`scrapy crawl -O items.csv`), with texts of the web quoted as in exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exporters import CsvItemExporter

from crawler.reading.exports.formats import quote_formula

if TYPE_CHECKING:
    from collections.abc import Iterable


class QuotedCsvItemExporter(CsvItemExporter):
    """Scrapy's exporter, with no value or name of a column that a spreadsheet takes for a formula."""

    def _build_row(self, values: Iterable[Any]) -> Iterable[Any]:
        return map(quote_formula, super()._build_row(values))
