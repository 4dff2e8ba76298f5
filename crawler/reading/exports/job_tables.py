"""The rows of a finished batch job, read from the Parquet files of its tables, here or at a URL that fsspec opens."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crawler.errors import ExportError
from crawler.reading.exports.formats import ExportHead, require_format
from crawler.reading.exports.rows import ExportColumn, ExportContent
from crawler.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.reading.exports.rows import Row

_SUMMARY_FILE = "summary.json"
_ROWS_PER_READ = 1_000
_TABLES = (ExportContent.BLOCKS, ExportContent.PAGES)
_TIMESTAMP = "timestamp"


class JobTable:
    """The table of pages or blocks of a finished batch job.

    Raises ExportError for a folder without one, and for chunks, which a job does not write.
    """

    def __init__(self, folder: str, content: ExportContent) -> None:
        require_format(".parquet")
        if content not in _TABLES:
            raise ExportError("a batch job has no chunks; export its pages or blocks, or import it into a database")
        self._shown = redact_text(folder)
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 — an extra
        except ImportError as error:
            raise ExportError(f"--from needs fsspec: pip install 'blocksieve[batch]' ({error})") from error
        self._system, root = url_to_fs(folder)
        root = root.rstrip("/")
        if not self._system.exists(f"{root}/{_SUMMARY_FILE}"):
            raise ExportError(f"--from is {self._shown!r}, which holds no finished batch job; name its folder --out")
        self._parts = sorted(self._system.glob(f"{root}/{content.value}/*.parquet"))
        if not self._parts:
            raise ExportError(f"--from is {self._shown!r}, which has no table {content.value}")
        self.head = ExportHead(content.value, tuple(self._columns()))

    def read(self) -> Iterator[Row]:
        """Yield the rows, in the order of the job's input files. Raises ExportError for a damaged file."""
        from pyarrow import parquet  # noqa: PLC0415 — an extra

        for part in self._parts:
            with self._open(part) as file:
                for batch in parquet.ParquetFile(file).iter_batches(_ROWS_PER_READ):
                    yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    @contextmanager
    def _open(self, part: str) -> Iterator[Any]:
        from pyarrow import ArrowInvalid  # noqa: PLC0415 — an extra

        try:
            with self._system.open(part, "rb") as file:
                yield file
        except (ArrowInvalid, OSError) as error:
            raise ExportError(f"{part.rpartition('/')[2]} in {self._shown!r} cannot be read: {error}") from error

    def _columns(self) -> Iterator[ExportColumn]:
        from pyarrow import parquet  # noqa: PLC0415 — an extra

        with self._open(self._parts[0]) as file:
            schema = parquet.read_schema(file)
        for column in schema:
            kind = str(column.type)
            yield ExportColumn(column.name, _TIMESTAMP if kind.startswith(_TIMESTAMP) else kind, "")
