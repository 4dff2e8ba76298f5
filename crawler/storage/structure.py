"""The stored structure of pages (setting STRUCTURE): Markdown, the tree of nodes, and the place and links of each text.

Places belong to a position of a page, not to a block: the same text may stand in a table here and in a list elsewhere.
The rows of a page are replaced as a whole, and deleted when the page is stored without a structure. The caller owns the
transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from crawler.storage.pages import compress, decompress
from crawler.storage.tables import Rows, block_link, block_place, insert_rows, page_structure
from crawler.visit import read_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Select
    from sqlalchemy.engine import Connection

    from cleaning.structure.nodes import StructureNode
    from crawler.storage.change_log import PageLog
    from crawler.visit import PageStructure

_TABLES = (block_link, block_place, page_structure)


class StructureChanges:
    """The structures of the pages of one batch, collected here and written by `write`."""

    def __init__(self) -> None:
        self._structures: dict[int, PageStructure | None] = {}
        self._stored: set[int] = set()

    def put(self, page_id: int, structure: PageStructure | None, *, replaces: bool) -> None:
        """Collect the structure of a page, or None; the last call for a page counts.

        `replaces` says that the page has a stored one.
        """
        if replaces:
            self._stored.add(page_id)
        self._structures[page_id] = structure

    def forget(self, page_id: int) -> None:
        """Drop the collected structure of a page that is about to be deleted."""
        self._structures.pop(page_id, None)
        self._stored.discard(page_id)

    def write(self, connection: Connection, log: PageLog) -> None:
        """Replace the rows of all pages, and record the pages whose structure has changed."""
        before: dict[int, bytes] = {}
        if self._stored:
            columns = select(page_structure.c.page_id, page_structure.c.nodes)
            rows = connection.execute(columns.where(page_structure.c.page_id.in_(sorted(self._stored))))
            before = {row.page_id: decompress(row.nodes) for row in rows}
        for table in _TABLES if before else ():
            connection.execute(delete(table).where(table.c.page_id.in_(list(before))))
        new = {page_id: structure for page_id, structure in self._structures.items() if structure is not None}
        for page_id, structure in self._structures.items():
            if before.get(page_id) != (structure and structure.nodes):
                log.restructured.add(page_id)
        if not new:
            return
        connection.execute(
            insert(page_structure), [_page_row(page_id, structure) for page_id, structure in new.items()]
        )
        for table, make in ((block_place, _place_rows), (block_link, _link_rows)):
            values = [row for page_id, structure in new.items() for row in make(page_id, structure)]
            insert_rows(connection, table, Rows(tuple(table.c.keys()), values))


def delete_structures(connection: Connection, pages: Select[int]) -> None:
    """Delete the structures of the selected pages."""
    for table in _TABLES:
        connection.execute(delete(table).where(table.c.page_id.in_(pages)))


def read_structure_nodes(connection: Connection, pages: Sequence[int]) -> dict[int, StructureNode]:
    """Return the node trees of the pages that have one."""
    columns = select(page_structure.c.page_id, page_structure.c.nodes).where(page_structure.c.page_id.in_(pages))
    return {row.page_id: read_nodes(decompress(row.nodes)) for row in connection.execute(columns)}


def _page_row(page_id: int, structure: PageStructure) -> dict[str, Any]:
    return {"page_id": page_id, "markdown": structure.markdown, "nodes": compress(structure.nodes)}


def _place_rows(page_id: int, structure: PageStructure) -> Iterator[tuple[Any, ...]]:
    """Yield the values of `block_place`, in the order of its columns."""
    for place in structure.places:
        yield (
            page_id,
            place.position,
            place.section,
            place.heading_level,
            place.list_depth,
            place.item_number,
            place.table,
            place.row,
            place.column,
            place.header,
            place.code_language,
            structure.texts.get(place.position),
        )


def _link_rows(page_id: int, structure: PageStructure) -> Iterator[tuple[Any, ...]]:
    """Yield the values of `block_link`, in the order of its columns."""
    for place in structure.places:
        for number, link in enumerate(place.links):
            yield page_id, place.position, number, link.url, link.text
