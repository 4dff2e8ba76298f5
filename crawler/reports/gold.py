"""Gold texts of saved pages, in the forms of published collections, and how well the methods agree with them.

| form | PATH of `--gold` | page of a text |
| --- | --- | --- |
| JSON lines | a file `.jsonl`, also `.gz`: `text`, and `url`, `file`, `html_path` or `id` | by address, file or name |
| CleanEval | a folder of `1-cleaned.txt` (lines with `<p>`, `<h>`, `<l>` after a line `URL:`) | by number |
| L3S-GN1 | a folder of annotated `UUID.html` (`x-nc-sel1` to `x-nc-sel3` are the main text) | by name |
| Dragnet | a folder of `ID.html.corrected.txt` (comments follow a line of signs) | by name |
| WCXB | a folder of `0001.json` (`ground_truth.main_content`) | by name |
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import msgspec
from lxml import etree, html

from crawler.errors import CompareError
from crawler.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.reports.sources import UnreadPage


class GoldForm(StrEnum):
    """The form of a collection of gold texts."""

    JSONL = "jsonl"
    CLEANEVAL = "cleaneval"
    L3S = "l3s-gn1"
    DRAGNET = "dragnet"
    WCXB = "wcxb"


_ENDINGS = {
    "-cleaned.txt": GoldForm.CLEANEVAL,
    ".html.corrected.txt": GoldForm.DRAGNET,
    ".json": GoldForm.WCXB,
    ".html": GoldForm.L3S,
}
_JSONL_ENDINGS = (".jsonl", ".jsonl.gz")
_CLEANEVAL_URL = re.compile(r"\AURL:[^\n]*\n")
_CLEANEVAL_TAG = re.compile(r"^[ \t]*<(?:p|h|l)>[ \t]*", re.IGNORECASE | re.MULTILINE)
_COMMENTS = re.compile(r"^[ \t]*!@#\$%\^&\*\(\)[ \t]*$", re.MULTILINE)
_MAIN_TEXT = re.compile(r"(?:^|\s)x-nc-sel[123](?:\s|$)")
_OTHER_TEXT = re.compile(r"(?:^|\s)x-nc-sel[045](?:\s|$)")
_PAGE_ENDINGS = (".gz", ".html", ".htm", ".xhtml")


@dataclass(slots=True)
class GoldTexts:
    """The gold texts of pages, by address and by name; `form` is that of the collection."""

    form: GoldForm
    by_url: dict[str, str] = field(default_factory=dict)
    by_name: dict[str, str] = field(default_factory=dict)

    def find(self, source: UnreadPage) -> str | None:
        """Return the gold text of a page; None if there is none."""
        if source.url is not None and (text := self.by_url.get(url_key(source.url))) is not None:
            return text
        whole = _without_endings(source.name)
        return self.by_name.get(whole, self.by_name.get(PurePath(whole).name))


def read_gold(path: Path) -> GoldTexts:
    """Return the gold texts of a file or folder, whose form its names tell.

    Raises CompareError for a path without any, and for a damaged file.
    """
    try:
        return _read_jsonl(path) if path.is_file() else _read_folder(path)
    except (OSError, EOFError, UnicodeDecodeError, msgspec.MsgspecError, etree.ParserError) as error:
        raise CompareError(f"--gold is {str(path)!r}, which cannot be read: {error}") from error


def _read_jsonl(path: Path) -> GoldTexts:
    if not path.name.lower().endswith(_JSONL_ENDINGS):
        raise CompareError(f"--gold is {str(path)!r}; it takes a file {' or '.join(_JSONL_ENDINGS)}, or a folder")
    gold = GoldTexts(GoldForm.JSONL)
    content = path.read_bytes()
    lines = gzip.decompress(content) if path.name.lower().endswith(".gz") else content
    for number, line in enumerate(lines.splitlines(), 1):
        row = msgspec.json.decode(line, type=dict[str, Any])
        names = [_without_endings(str(row[name])) for name in ("file", "html_path", "id") if row.get(name)]
        if not isinstance(row.get("text"), str) or not (names or row.get("url")):
            raise CompareError(
                f"--gold is {str(path)!r}, but line {number} does not have a `text` and one of `url`, `file`, "
                "`html_path` and `id`"
            )
        if row.get("url"):
            gold.by_url[url_key(str(row["url"]))] = row["text"]
        gold.by_name.update(dict.fromkeys(names, row["text"]))
    return _expect_some(gold, path)


def _read_folder(path: Path) -> GoldTexts:
    files = sorted(entry for entry in path.rglob("*") if entry.is_file())
    for ending, form in _ENDINGS.items():
        chosen = [entry for entry in files if entry.name.lower().endswith(ending)]
        if chosen:
            gold = GoldTexts(form)
            for entry in chosen:
                gold.by_name[_without_endings(entry.name[: -len(ending)])] = _READERS[form](entry)
            return _expect_some(gold, path)
    raise CompareError(
        f"--gold is {str(path)!r}, which has no file that ends in {', '.join(_ENDINGS)}; see `scrapy compare --help`"
    )


def _expect_some(gold: GoldTexts, path: Path) -> GoldTexts:
    if not gold.by_url and not gold.by_name:
        raise CompareError(f"--gold is {str(path)!r}, which has no gold text")
    return gold


def _cleaneval(path: Path) -> str:
    return _CLEANEVAL_TAG.sub("", _CLEANEVAL_URL.sub("", _decoded(path)))


def _dragnet(path: Path) -> str:
    return _COMMENTS.split(_decoded(path))[0]


def _wcxb(path: Path) -> str:
    row = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    truth = row.get("ground_truth", row)
    text = truth.get("main_content", truth.get("text")) if isinstance(truth, dict) else None
    if not isinstance(text, str):
        raise CompareError(f"--gold: {str(path)!r} has no `ground_truth.main_content`")
    return text


def _l3s(path: Path) -> str:
    root = html.document_fromstring(path.read_bytes() or b"<html></html>")
    return "\n".join(filter(None, (text.strip() for text in _marked_texts(root))))


def _marked_texts(root: html.HtmlElement) -> Iterator[str]:
    """Yield the texts whose nearest marked element is marked as headline, full text or supplement."""
    for text in root.xpath("//body//text()"):
        element = text.getparent().getparent() if text.is_tail else text.getparent()
        while element is not None:
            marks = element.get("class") or ""
            if _MAIN_TEXT.search(marks):
                yield str(text)
            if _MAIN_TEXT.search(marks) or _OTHER_TEXT.search(marks):
                break
            element = element.getparent()


_READERS = {
    GoldForm.CLEANEVAL: _cleaneval,
    GoldForm.DRAGNET: _dragnet,
    GoldForm.WCXB: _wcxb,
    GoldForm.L3S: _l3s,
}


def _decoded(path: Path) -> str:
    """Return the text of a file in UTF-8, or in the encoding of old collections."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _without_endings(name: str) -> str:
    """Return a file's name without what names its type: `html/0001.html.gz` is `html/0001`."""
    for ending in _PAGE_ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name
