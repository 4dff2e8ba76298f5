"""A folder that the library `datasets` of Hugging Face loads: Parquet files and a dataset card."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from string import Template
from typing import TYPE_CHECKING
from uuid import uuid4

from crawler.errors import ExportError
from crawler.reading.exports.forms import ExportForm, open_row_writer
from crawler.terminal import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawler.reading.exports.formats import ExportHead
    from crawler.reading.exports.rows import Row

_ROWS_PER_WRITE = 1_000
_FILE_CHARS = 400_000_000
_LANGUAGES_MAX, _LICENSES_MAX = 20, 10
# The classes of size that a card may state, by the number of rows that they begin at.
_SIZES = (
    (10**9, "n>1B"),
    (10**8, "100M<n<1B"),
    (10**7, "10M<n<100M"),
    (10**6, "1M<n<10M"),
    (10**5, "100K<n<1M"),
    (10**4, "10K<n<100K"),
    (10**3, "1K<n<10K"),
    (0, "n<1K"),
)
_CARD = Template("""\
---
$languages
pretty_name: $quoted
size_categories:
- $size
configs:
- config_name: default
  data_files:
  - split: train
    path: data/*.parquet
---

# $name

$rows $content with $words words from $sites, extracted from web pages by Blocksieve.

## Sources and licences

A row names the address of its page in the column `url`. The texts belong to their authors. `license` is what a page
states; $licensed of the rows state one.

$licenses

## Columns

$columns

## Languages

$table
""")


@dataclass(slots=True)
class _Counts:
    """What the card says of the rows."""

    rows: int = 0
    words: int = 0
    sites: set[str] = field(default_factory=set)
    languages: Counter[str] = field(default_factory=Counter)
    licenses: Counter[str] = field(default_factory=Counter)

    def add(self, row: dict[str, object]) -> None:
        self.rows += 1
        words = row.get("words")
        self.words += words if isinstance(words, int) else len(str(row.get("text") or "").split())
        self.sites.add(str(row["site"]))
        if row["language"]:
            self.languages[str(row["language"])] += 1
        if row["license"]:
            self.licenses[str(row["license"])] += 1


def write_dataset(path: Path, head: ExportHead, rows: Iterator[Row]) -> None:
    """Write the rows to files of a few hundred megabytes in a new folder, which appears when it is complete.

    Raises ExportError if there is something at the path already, or it cannot be written.
    """
    if path.exists():
        raise ExportError(f"OUT is {str(path)!r}, which exists; choose another folder")
    temporary = path.with_name(f".blocksieve-export-{uuid4().hex}.part")
    try:
        (temporary / "data").mkdir(parents=True)
        counts = _write_files(temporary / "data", head, rows)
        (temporary / "README.md").write_text(_card(path.name, head, counts), "utf-8")
        temporary.rename(path)
    except OSError as error:
        raise ExportError(
            f"the export {str(path)!r} cannot be written: {error.strerror or error}; nothing of it is left"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_files(folder: Path, head: ExportHead, rows: Iterator[Row]) -> _Counts:
    counts = _Counts()
    number = 0
    names = head.names
    text = names.index("text")
    batch = list(islice(rows, _ROWS_PER_WRITE))
    while batch or not number:
        with (
            (folder / f"train-{number:05}.parquet").open("wb") as file,
            open_row_writer(ExportForm.PROGRAMS, ".parquet", file, head) as writer,
        ):
            chars = 0
            while batch and chars < _FILE_CHARS:
                writer.write(batch)
                chars += sum(len(row[text] or "") for row in batch)
                for row in batch:
                    counts.add(dict(zip(names, row, strict=True)))
                batch = list(islice(rows, _ROWS_PER_WRITE))
        number += 1
    for place in range(number):
        (folder / f"train-{place:05}.parquet").rename(folder / f"train-{place:05}-of-{number:05}.parquet")
    return counts


def _card(name: str, head: ExportHead, counts: _Counts) -> str:
    # Quoted: a reader of YAML takes the code of Norwegian, `no`, for false.
    languages = "".join(f'\n- "{language}"' for language, _ in counts.languages.most_common(_LANGUAGES_MAX))
    table = [f"| {language} | {count:,} |" for language, count in counts.languages.most_common(_LANGUAGES_MAX)]
    licenses = [f"- {text}: {count:,}" for text, count in counts.licenses.most_common(_LICENSES_MAX)]
    columns = [
        f"- `{column.name}` ({column.kind}){column.meaning and f': {column.meaning}'}" for column in head.columns
    ]
    return _CARD.substitute(
        languages=f"language:{languages}" if languages else "language: []",
        name=name,
        quoted=json.dumps(name),
        size=next(label for least, label in _SIZES if counts.rows >= least),
        rows=f"{counts.rows:,}",
        content=head.content,
        words=f"{counts.words:,}",
        sites=count_of(len(counts.sites), "site"),
        licensed=f"{counts.licenses.total():,}",
        licenses="\n".join(licenses),
        columns="\n".join(columns),
        table="\n".join(["| language | rows |", "| --- | --- |", *table]),
    )
