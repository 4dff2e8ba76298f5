"""The forms of an export, `--for`, and the writer that a form has for the suffix of a file's name."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

from crawler.reading.exports.corpora import DOLMA_FORMATS, WET_FORMATS
from crawler.reading.exports.formats import TABLE_FORMATS, ExcelCsvWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from crawler.reading.exports.formats import ExportHead, RowWriter


class ExportForm(StrEnum):
    """Who reads an export."""

    PROGRAMS = "programs"
    """Our columns, or a WET archive."""
    EXCEL = "excel"
    DOLMA = "dolma"
    """Dolma's documents, which datatrove reads too."""
    HUGGINGFACE = "huggingface"
    """A folder of Parquet files with a dataset card."""


_FORMATS: Mapping[ExportForm, Mapping[str, Callable[[IO[bytes], ExportHead], RowWriter]]] = MappingProxyType(
    {
        ExportForm.PROGRAMS: {**TABLE_FORMATS, **WET_FORMATS},
        ExportForm.EXCEL: {".csv": ExcelCsvWriter, ".xlsx": TABLE_FORMATS[".xlsx"]},
        ExportForm.DOLMA: DOLMA_FORMATS,
        ExportForm.HUGGINGFACE: {},
    }
)


def suffixes(form: ExportForm = ExportForm.PROGRAMS) -> tuple[str, ...]:
    """Return the suffixes of the files that a form is written to; none for a folder."""
    return tuple(_FORMATS[form])


def format_of(name: str, form: ExportForm = ExportForm.PROGRAMS) -> str | None:
    """Return the format of a file's name, by its suffix; None for an unknown suffix, and "" for a folder."""
    if form is ExportForm.HUGGINGFACE:
        return ""
    return next((ending for ending in _FORMATS[form] if name.lower().endswith(ending)), None)


@contextmanager
def open_row_writer(form: ExportForm, ending: str, file: IO[bytes], head: ExportHead) -> Iterator[RowWriter]:
    """Yield a writer of a format. On leaving, all rows are written and the file is still open.

    Raises ExportError for a content that the format does not have.
    """
    writer = _FORMATS[form][ending](file, head)
    try:
        yield writer
        writer.close()
    except BaseException:
        writer.abandon()
        raise
