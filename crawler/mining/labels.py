"""The classes and clusters of pages, stored in the database under a name: search and programs find the pages by them.

    with opened_engine("sqlite:///blocks.db", must_exist=True) as engine:
        result = cluster(count_terms(read_documents(Corpus(engine))))
        store_labels(engine, "topic", result)

A name has one set of labels: storing it again replaces all of them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from crawler.errors import MiningError
from crawler.mining.classification import Classification
from crawler.mining.clustering import Clustering
from crawler.storage.tables import batched, page, page_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Engine

    from crawler.mining.results import MiningResult

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)


def store_labels(engine: Engine, name: str, result: MiningResult) -> int:
    """Store the labels of a classification or clustering of pages under a name, and return how many pages have one.

    A page that was deleted meanwhile has none. Of a classification, each page has the label that the best model gives
    it without having seen it, also a page that states none. Raises MiningError for another name, and for a result that
    gives pages no labels.
    """
    if not _NAME.fullmatch(name):
        raise MiningError(
            f"the label's name is {name!r}; it takes up to 40 small letters, digits, - and _, and begins with a letter"
        )
    labelled = datetime.now(UTC)
    rows = [{"name": name, "labelled": labelled, **row} for row in _labels_of(result)]
    stored = 0
    with engine.begin() as connection:
        connection.execute(delete(page_label).where(page_label.c.name == name))
        for part in batched(rows):
            ids = [row["page_id"] for row in part]
            present = set(connection.scalars(select(page.c.id).where(page.c.id.in_(ids))))
            if kept := [row for row in part if row["page_id"] in present]:
                connection.execute(insert(page_label), kept)
            stored += len(kept)
    return stored


def _labels_of(result: MiningResult) -> Iterator[dict[str, Any]]:
    match result:
        case Classification():
            for judged in (*result.predictions, *result.unlabelled):
                yield {"page_id": judged.document.id, "value": judged.predicted, "score": judged.confidence}
        case Clustering():
            names = {cluster.number: f"{cluster.number} {cluster.name}".strip() for cluster in result.clusters}
            for member in result.members:
                yield {"page_id": member.document.id, "value": names[member.cluster], "score": member.similarity}
        case _:
            raise MiningError("only classes and clusters are labels of pages; patterns and trends are not")
