"""A pipeline that writes all items to the file COLLECT_TO, one JSON object on each line, and the stats last."""

import json
import os
from dataclasses import asdict, is_dataclass

from scrapy import signals

from crawler.visit import Visit


class Collect:
    takes_visits = True

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        pipeline = cls(crawler)
        crawler.signals.connect(pipeline.spider_closed, signal=signals.spider_closed)
        return pipeline

    def open_spider(self):
        self.file = open(os.environ["COLLECT_TO"], "w", encoding="utf-8")  # noqa: PTH123, SIM115 — closed below

    def process_item(self, item):
        self.write({"visit": described(item)} if isinstance(item, Visit) else {"item": item})
        return item

    def spider_closed(self):
        self.write({"stats": self.crawler.stats.get_stats()})
        self.file.close()

    def write(self, entry):
        self.file.write(json.dumps(entry, default=str) + "\n")


def described(visit):
    values = {"url": visit.url, "outcome": visit.outcome, "status": visit.status, "children": visit.children}
    values |= {"error": visit.error, "at": visit.at, "page": None}
    page = getattr(visit.page, "fetched", visit.page)
    if page:
        assert is_dataclass(page)
        values["page"] = {"url": page.url, "bytes": len(page.body), "encoding": page.tree.encoding}
        values["page"] |= {"text": " ".join(page.tree.root.text_content().split())[:2_000], "etag": page.etag}
        values["page"] |= {"last_modified": page.last_modified} | described_metadata(page.stated)
    if cleaned := getattr(visit.page, "cleaned", None):
        values["cleaned"] = described_metadata(cleaned.metadata)
    return values


def described_metadata(metadata):
    return asdict(metadata) | {"author": metadata.author}
