"""The last stage of a batch job: the tables of pages, blocks and sightings, with one file in each for an input file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from crawler.batch.clean_file import ID_BITS, cleaned_names
from crawler.batch.columns import BLOCKS, CLEANED_BLOCKS, PAGES, SIGHTINGS, create_table, read_table
from crawler.batch.duplicates.decisions import PageComparisonMode
from crawler.batch.duplicates.pages import read_repeats
from crawler.batch.duplicates.stages import read_decisions, read_sightings
from crawler.reading.exports.rows import EXPORT_VERSION, RowChange
from crawler.storage.page_columns import PAGE_COLUMN_NAMES
from crawler.urls import url_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawler.batch.duplicates.plan import Plan
    from crawler.batch.duplicates.stages import AddressDecisions
    from crawler.batch.output import OutputFolder

_ROWS_PER_READ = 5_000
_EXACT, _NEAR = "exact", "near"
_PAGE_COLUMNS = (*PAGE_COLUMN_NAMES, "first_seen")
_KEPT_COLUMNS = (
    "position",
    "kind",
    "text",
    "words",
    "score",
    "priority",
    "path",
    "unique_terms",
    "digest",
    "fingerprint",
)


def finish_range(output: OutputFolder, plan: Plan, mode: PageComparisonMode, range_number: int) -> dict[str, int]:
    """Write the tables of a range of input files, and return how many rows they have."""
    addresses = read_decisions(output, plan, range_number)
    sightings = read_sightings(output, plan, range_number) if plan.max_distance is not None else None
    repeats = None if mode is PageComparisonMode.OFF else read_repeats(output, plan, range_number)
    counts = Counter({"pages": 0, "blocks": 0, "exact": 0, "near": 0, "exact_pages": 0, "near_pages": 0})
    languages: Counter[str] = Counter()
    for number in plan.files_of(range_number):
        pages = _write_pages(output, number, addresses, repeats)
        stored = _write_blocks(output, number, pages, _KeptBlocks.read(output, number, addresses.repeated, sightings))
        _write_captures(output, number, addresses.earlier)
        counts.update(stored | {"pages": len(pages)})
        counts.update(f"{word}_pages" for word in pages["duplicate"].drop_null().to_pylist())
        languages.update(_count_languages(pages))  # with `+=`, a language without a word would lose its count
    return {f"stored/{name}": count for name, count in counts.items()} | dict(languages)


def _count_languages(pages: pa.Table) -> Counter[str]:
    """Return the pages and words of each language; `none` stands for pages of an unknown one."""
    counts: Counter[str] = Counter()
    for language, words in zip(pages["language"].to_pylist(), pages["words"].to_pylist(), strict=True):
        counts[f"language/{language or 'none'}/pages"] += 1
        counts[f"language/{language or 'none'}/words"] += words
    return counts


def part_name(table: str, number: int) -> str:
    """Return the name of an input file's part of a table."""
    return f"{table}/part-{number:06}.parquet"


def _write_pages(output: OutputFolder, number: int, addresses: AddressDecisions, repeats: Any) -> pa.Table:
    """Write the pages of an input file that count; return their duplicates, and the columns that blocks repeat."""
    names = ("id", "duplicate", "words", *_PAGE_COLUMNS)
    parts = []
    with (
        output.open(cleaned_names(number)["pages"]) as file,
        create_table(output, part_name("pages", number), PAGES) as writer,
    ):
        for batch in parquet.ParquetFile(file).iter_batches(_ROWS_PER_READ):
            ids = batch.column("id").to_numpy()
            kept = pa.Table.from_batches([batch]).filter(pa.array(~np.isin(ids, addresses.repeated)))
            pages = _with_repeats(_at_own_addresses(kept, addresses.doubted), repeats)
            writer.add_table(pages.cast(PAGES))
            parts.append(pages.select(names))
    return pa.concat_tables(parts) if parts else PAGES.empty_table().select(names)


def _write_captures(output: OutputFolder, number: int, earlier: NDArray[np.int64]) -> None:
    """Write the earlier captures of an input file's pages, and their blocks, if there are any: an import reads them."""
    if not np.any(earlier >> ID_BITS == number):
        return
    for table, schema, page_id in (("pages", PAGES, "id"), ("blocks", CLEANED_BLOCKS, "page_id")):
        with (
            output.open(cleaned_names(number)[table]) as file,
            create_table(output, part_name(f"captures/{table}", number), schema) as writer,
        ):
            for batch in parquet.ParquetFile(file).iter_batches(_ROWS_PER_READ):
                chosen = np.isin(batch.column(page_id).to_numpy(), earlier)
                writer.add_table(pa.Table.from_batches([batch]).filter(pa.array(chosen)).cast(schema))


def _at_own_addresses(pages: pa.Table, doubted: NDArray[np.int64]) -> pa.Table:
    """Return the pages; those whose stated address is doubted have the keys of their own addresses."""
    is_doubted = np.isin(pages["id"].to_numpy(), doubted)
    stated = pages["url_key"].to_pylist()
    urls = pages["url"].to_pylist()
    columns = {
        "url_key": [url_key(url) if away else key for url, key, away in zip(urls, stated, is_doubted, strict=True)],
        "doubted_canonical": [key if away else None for key, away in zip(stated, is_doubted, strict=True)],
    }
    for name, values in columns.items():
        pages = pages.set_column(pages.schema.get_field_index(name), name, pa.array(values, pa.string()))
    return pages


def _with_repeats(pages: pa.Table, repeats: Any) -> pa.Table:
    """Return the pages; those that repeat another one name it."""
    if repeats is None or not len(repeats):
        return pages
    ids = pages["id"].to_numpy()
    place = np.minimum(np.searchsorted(repeats["id"], ids), len(repeats) - 1)
    own = repeats[place]
    is_other = own["id"] != ids
    columns = {
        "duplicate": pa.array(np.where(own["exact"], _EXACT, _NEAR), mask=is_other),
        "duplicate_of": pa.array(own["original"], mask=is_other),
        "duplicate_bits": pa.array(own["bits"], mask=is_other),
    }
    for name, values in columns.items():
        pages = pages.set_column(pages.schema.get_field_index(name), name, values)
    return pages


class _KeptBlocks:
    """The kept blocks of an input file. Each is a block of its own, or a sighting of `original`."""

    def __init__(self, ids: NDArray[np.int64], counts: NDArray[np.bool_]) -> None:
        self.ids = ids
        self.counts = counts
        self.original = ids.copy()
        self.distance = np.zeros(len(ids), np.int8)
        self.exact = np.zeros(len(ids), bool)

    @classmethod
    def read(cls, output: OutputFolder, number: int, repeated: NDArray[np.int64], sightings: Any) -> _KeptBlocks:
        """Return the blocks; if `sightings` is None, each different text of a page is a block."""
        names = ("id", "page_id", "repeats", "distance", "digest", "fingerprint")
        table = read_table(output, cleaned_names(number)["blocks"], names)
        ids = table["id"].to_numpy()
        kept = cls(ids, ~np.isin(table["page_id"].to_numpy(), repeated))
        digest = table["digest"].to_numpy().copy()
        fingerprint = table["fingerprint"].fill_null(0).to_numpy().copy()
        has = table["fingerprint"].is_valid().to_numpy().copy()
        own_digest = digest.copy()
        own_fingerprint = fingerprint.copy()
        own_has = has.copy()
        if sightings is not None and len(ids):
            own = sightings[
                np.searchsorted(sightings["id"], ids[0]) : np.searchsorted(sightings["id"], ids[-1], "right")
            ]
            place = np.searchsorted(ids, own["id"])
            kept.original[place], kept.distance[place], kept.exact[place] = own["original"], own["bits"], own["exact"]
            digest[place], fingerprint[place], has[place] = own["digest"], own["fingerprint"], own["has"]
        # A repeat is a sighting of what the earlier block of its page is, or is a sighting of.
        repeats = np.flatnonzero(table["repeats"].to_numpy() >= 0)
        earlier = np.searchsorted(ids, table["repeats"].to_numpy()[repeats])
        kept.original[repeats] = kept.original[earlier]
        kept.exact[repeats] = own_digest[repeats] == digest[earlier]
        bits = np.bitwise_count(own_fingerprint[repeats].view(np.uint64) ^ fingerprint[earlier].view(np.uint64))
        both = own_has[repeats] & has[earlier]
        kept.distance[repeats] = np.where(both, bits, table["distance"].to_numpy()[repeats])
        return kept


def _write_blocks(output: OutputFolder, number: int, pages: pa.Table, kept: _KeptBlocks) -> dict[str, int]:
    """Write the blocks and sightings of an input file, and return how many there are."""
    is_block = kept.original == kept.ids
    is_exact = kept.exact & ~is_block & kept.counts
    is_near = ~kept.exact & ~is_block & kept.counts
    start = 0
    with (
        output.open(cleaned_names(number)["blocks"]) as file,
        create_table(output, part_name("blocks", number), BLOCKS) as blocks,
        create_table(output, part_name("sightings", number), SIGHTINGS) as sightings,
    ):
        for batch in parquet.ParquetFile(file).iter_batches(_ROWS_PER_READ):
            own = slice(start, start + len(batch))
            start += len(batch)
            table = pa.Table.from_batches([batch])
            blocks.add_table(_blocks(table.filter(pa.array((is_block & kept.counts)[own])), pages))
            chosen = (~is_block & kept.counts)[own]
            keys = {
                "block_id": pa.array(kept.original[own][chosen]),
                "distance": pa.array(kept.distance[own][chosen]),
                "exact": pa.array(kept.exact[own][chosen]),
            }
            sightings.add_table(_sightings(table.filter(pa.array(chosen)), pages, keys))
    return {
        "blocks": int((is_block & kept.counts).sum()),
        "exact": int(is_exact.sum()),
        "near": int(is_near.sum()),
    }


def _blocks(table: pa.Table, pages: pa.Table) -> pa.Table:
    columns = _columns(table, pages) | {"change": pa.repeat(RowChange.NEW.value, len(table))}
    return pa.table([columns[name] for name in BLOCKS.names], names=BLOCKS.names).cast(BLOCKS)


def _sightings(table: pa.Table, pages: pa.Table, keys: dict[str, pa.Array]) -> pa.Table:
    columns = _columns(table, pages) | keys
    return pa.table([columns[name] for name in SIGHTINGS.names], names=SIGHTINGS.names).cast(SIGHTINGS)


def _columns(table: pa.Table, pages: pa.Table) -> dict[str, Any]:
    """Return the columns of kept blocks, followed by the columns of their pages."""
    place = np.searchsorted(pages["id"].to_numpy(), table["page_id"].to_numpy())
    of_page = pages.take(pa.array(place))
    return {
        **{name: table[name] for name in ("id", "page_id", *_KEPT_COLUMNS)},
        **{name: of_page[name] for name in _PAGE_COLUMNS},
        "schema": pa.repeat(EXPORT_VERSION, len(table)),
    }
