"""The classes and clusters of pages or blocks, stored in the database under a name, by which search finds them.

    with opened_engine("sqlite:///blocks.db", must_exist=True) as engine:
        result = cluster(count_terms(read_documents(Corpus(engine))))
        store_labels(engine, "topic", result)

A name has one set of labels, of pages or of blocks: storing it again replaces all of them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from crawler.errors import MiningError
from crawler.mining.classification import Classification
from crawler.mining.clustering import Clustering
from crawler.storage.tables import batched, block, block_label, page, page_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Engine

    from crawler.mining.documents import Unit
    from crawler.mining.results import MiningResult

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)


def store_labels(engine: Engine, name: str, result: MiningResult, unit: Unit = "pages") -> int:
    """Store the labels of a classification or clustering under a name, and return how many pages or blocks have one.

    `unit` says what the documents of the result are. One that was deleted meanwhile has no label. Of a classification,
    each has the label that the best model gives it without having seen it, also one that states none. Raises
    MiningError for another name, and for a result that gives no labels.
    """
    if not _NAME.fullmatch(name):
        raise MiningError(
            f"the label's name is {name!r}; it takes up to 40 small letters, digits, - and _, and begins with a letter"
        )
    labelled = datetime.now(UTC)
    parent, table = (page, page_label) if unit == "pages" else (block, block_label)
    owner = f"{parent.name}_id"
    rows = [{"name": name, "labelled": labelled, owner: label.pop("id"), **label} for label in _labels_of(result)]
    stored = 0
    with engine.begin() as connection:
        for labels in (page_label, block_label):
            connection.execute(delete(labels).where(labels.c.name == name))
        for part in batched(rows):
            ids = [row[owner] for row in part]
            present = set(connection.scalars(select(parent.c.id).where(parent.c.id.in_(ids))))
            if kept := [row for row in part if row[owner] in present]:
                connection.execute(insert(table), kept)
            stored += len(kept)
    return stored


def _labels_of(result: MiningResult) -> Iterator[dict[str, Any]]:
    match result:
        case Classification():
            for judged in (*result.predictions, *result.unlabelled):
                yield {"id": judged.document.id, "value": judged.predicted, "score": judged.confidence}
        case Clustering():
            names = {cluster.number: f"{cluster.number} {cluster.name}".strip() for cluster in result.clusters}
            for member in result.members:
                yield {"id": member.document.id, "value": names[member.cluster], "score": member.similarity}
        case _:
            raise MiningError("only classes and clusters are labels; patterns and trends are not")
