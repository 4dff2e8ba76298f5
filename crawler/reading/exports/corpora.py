"""The formats in which corpora are exchanged: lines of Dolma, which datatrove reads too, and WET archives.

A document of Dolma is an object with `id`, `text`, `source`, `added` and `created`; all other columns are in
`metadata`. A record of WET has the text of a page under its address, as Common Crawl publishes them.
"""

from __future__ import annotations

from base64 import b32encode
from functools import partial
from hashlib import sha1
from importlib.metadata import version
from io import BytesIO
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from xxhash import xxh3_128_hexdigest

from crawler.errors import ExportError
from crawler.reading.exports.formats import JsonLinesWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from crawler.reading.exports.formats import ExportHead, RowWriter
    from crawler.reading.exports.rows import Row

_SOURCE = "blocksieve"
# The columns that are not in `metadata`.
_OWN_COLUMNS = frozenset({"schema", "change", "id", "text", "first_seen"})
_DATE = "%Y-%m-%dT%H:%M:%SZ"


def _document(row: Mapping[str, Any]) -> dict[str, Any]:
    number = f"-{row['number']}" if "number" in row else ""
    return {
        "id": f"{row['id']}{number}",
        "text": row["text"] or "",
        "source": _SOURCE,
        "added": row.get("first_seen"),
        "created": row["published"],
        "metadata": {name: value for name, value in row.items() if name not in _OWN_COLUMNS},
    }


class _WetWriter:
    """Writes a conversion record for each page that has a text."""

    def __init__(self, file: IO[bytes], head: ExportHead, *, packed: bool = False) -> None:
        if head.content != "pages":
            raise ExportError(f"a WET archive has pages, not {head.content}; add --pages")
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415 — few exports need it

        self._names = head.names
        self._writer = WARCWriter(file, gzip=packed, warc_version="1.0")
        about = f"software: {_SOURCE} {version(_SOURCE)}\r\nformat: WARC File Format 1.0\r\n"
        self._write_record("", "warcinfo", "application/warc-fields", about.encode(), {})

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            page = dict(zip(self._names, row, strict=True))
            if not page["text"]:
                continue
            text = page["text"].encode("utf-8", "replace")
            self._write_record(page["url"], "conversion", "text/plain", text, dict(_headers(page, text)))

    def _write_record(self, url: str, kind: str, media_type: str, block: bytes, headers: dict[str, str]) -> None:
        # Stated digests and lengths: for others the library keeps the block in a temporary file, and leaves it open.
        digest = f"sha1:{b32encode(sha1(block, usedforsecurity=False).digest()).decode()}"
        headers = {**headers, "WARC-Payload-Digest": digest, "WARC-Block-Digest": digest}
        record = self._writer.create_warc_record(
            url,
            kind,
            payload=BytesIO(block),
            length=len(block),
            warc_content_type=media_type,
            warc_headers_dict=headers,
        )
        self._writer.write_record(record)

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


def _headers(page: Mapping[str, Any], text: bytes) -> Iterator[tuple[str, str]]:
    date = page["first_seen"].strftime(_DATE)
    # The same page has the same id in each export.
    name = f"{page['url']} {date} {xxh3_128_hexdigest(text)}"
    yield "WARC-Record-ID", f"<{uuid5(NAMESPACE_URL, name).urn}>"
    yield "WARC-Date", date
    if page.get("record_id"):
        yield "WARC-Refers-To", page["record_id"]
    if page["language"]:
        yield "WARC-Identified-Content-Language", page["language"]


_DolmaWriter = partial(JsonLinesWriter, describe=_document)
_PackedDolmaWriter = partial(_DolmaWriter, packed=True)

DOLMA_FORMATS: Mapping[str, Callable[[IO[bytes], ExportHead], RowWriter]] = MappingProxyType(
    {".jsonl": _DolmaWriter, ".jsonl.gz": _PackedDolmaWriter, ".json.gz": _PackedDolmaWriter}
)
"""The writers of documents in Dolma's form, by the suffix of the file's name."""

WET_FORMATS: Mapping[str, Callable[[IO[bytes], ExportHead], RowWriter]] = MappingProxyType(
    {".wet": _WetWriter, ".wet.gz": partial(_WetWriter, packed=True)}
)
"""The writers of WET archives, by the suffix of the file's name."""
