"""Where comparison pages are written: a file for a page, a folder for several; nothing half under the final name."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from crawler.compare.index import failed_row, index_html, row
from crawler.compare.markup import GENERATOR
from crawler.compare.page import page_html
from crawler.compare.run import Failure
from crawler.errors import CompareError
from crawler.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from crawler.compare.figures import Figures
    from crawler.compare.plan import Plan
    from crawler.compare.run import Compared
    from crawler.compare.targets import Source, Target

_INDEX = "index.html"
_OUR_NAMES = re.compile(r"index\.html|page-\d{5,}\.html")
_MARK = f'<meta name="generator" content="{GENERATOR}">'.encode()
_HEAD_BYTES = 1_000


def check_free(out: Path, *, several: bool) -> None:
    """Raises CompareError where something else stands in the way than what this program wrote earlier."""
    try:
        if out.is_symlink() or (out.exists() and out.is_dir() != several):
            kind = "folder" if several else "file"
            raise CompareError(f"--html {str(out)!r} is to be a {kind}, but something else stands there")
        if out.exists() and not (_is_our_folder(out) if several else _is_ours(out)):
            raise CompareError(f"--html {str(out)!r} was not written by this program; it is not overwritten")
        if not out.parent.is_dir():
            raise CompareError(f"--html {str(out)!r}: there is no folder {str(out.parent)!r}")
    except OSError as error:
        raise _unwritable(out, error) from error


def _check_apart(out: Path, target: Target) -> None:
    """Raises CompareError for a folder inside the one that is compared: the next time it would be compared, too."""
    if target.several and out.resolve().is_relative_to(Path(target.name).resolve()):
        raise CompareError(f"--html {str(out)!r} lies in what is compared; choose a folder outside")


def _is_our_folder(folder: Path) -> bool:
    entries = list(folder.iterdir())
    named = all(_OUR_NAMES.fullmatch(each.name) and each.is_file() and not each.is_symlink() for each in entries)
    return not entries or (named and _is_ours(folder / _INDEX))


def _is_ours(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        start = opened.read(_HEAD_BYTES)
    return not start or _MARK in start


class Pages:
    """Writes comparison pages beside their final place and moves them there at the end; used with `with`."""

    def __init__(self, out: Path, target: Target, plan: Plan, most_leaves: int) -> None:
        self._out, self._target, self._plan = out, target, plan
        self._most_leaves = most_leaves
        self._count = 0
        self._compared = False

    def __enter__(self) -> Self:
        check_free(self._out, several=self._target.several)
        _check_apart(self._out, self._target)
        try:
            self._draft = Path(tempfile.mkdtemp(prefix=f".{self._out.name}-", dir=self._out.parent))
            self._draft.chmod(0o755)
            self._rows = (self._draft / "rows").open("w+", encoding="utf-8")
        except OSError as error:
            raise _unwritable(self._out, error) from error
        return self

    def __exit__(self, *_exception: object) -> None:
        self._rows.close()
        shutil.rmtree(self._draft, ignore_errors=True)

    def add(self, source: Source, found: Compared | Failure) -> None:
        """Write a page's comparison. Raises CompareError where the disk does not take it."""
        self._count += 1
        if isinstance(found, Failure):
            self._note(failed_row(self._count, source.name, found.reason.replace("_", " ")))
            return
        self._compared = True
        file = f"page-{self._count:05}.html"
        self._write(self._draft / file, page_html(found, self._most_leaves, _INDEX if self._target.several else None))
        mean = found.mean_agreement
        self._note(row(self._count, source.name, file=file, words=found.words, agreement=mean))

    def finish(self, figures: Figures) -> None:
        """Put everything in its place; nothing is written where no page could be compared."""
        if not self._compared:
            return
        try:
            if self._target.several:
                self._rows.seek(0)
                self._write(self._draft / _INDEX, index_html(self._target, self._plan, figures, self._rows))
                self._rows.close()
                (self._draft / "rows").unlink()
                _replace_folder(self._draft, self._out)
            else:
                (self._draft / "page-00001.html").replace(self._out)
        except OSError as error:
            raise _unwritable(self._out, error) from error

    def _note(self, line: str) -> None:
        try:
            self._rows.write(line)
        except OSError as error:
            raise _unwritable(self._out, error) from error

    def _write(self, path: Path, parts: Iterable[str]) -> None:
        try:
            with path.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(parts)
        except OSError as error:
            raise _unwritable(self._out, error) from error


def _replace_folder(draft: Path, out: Path) -> None:
    """Move the draft to its place; an earlier comparison, checked to be one again, goes away only then."""
    if not out.exists():
        draft.rename(out)
        return
    check_free(out, several=True)
    earlier = draft.with_name(f"{draft.name}-earlier")
    out.rename(earlier)
    draft.rename(out)
    shutil.rmtree(earlier)


def write_file(out: Path, parts: Iterable[str]) -> None:
    """Write a page to its place, whole or not at all; raises CompareError where that cannot be done."""
    try:
        replace_file(out, "".join(parts).encode())
    except OSError as error:
        raise _unwritable(out, error) from error


def _unwritable(out: Path, error: OSError) -> CompareError:
    return CompareError(f"cannot write {str(out)!r}: {error.strerror or error}")
