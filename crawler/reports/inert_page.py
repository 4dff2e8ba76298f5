"""HTML pages that show hostile text safely: they run nothing, load nothing, and print every text as text.

`inert` is the only way from a text to HTML. It is applied to each value that a template prints; only markup that this
package made itself passes unchanged. The Content-Security-Policy of a page allows its style sheet and nothing else.
"""

from __future__ import annotations

import re
from base64 import b64encode
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from crawler.errors import CompareError
from crawler.monitoring.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from jinja2 import BaseLoader

INDEX = "index.html"
_OUR_NAMES = re.compile(r"index\.html|page-\d{5,}\.html")
_GENERATOR = Markup('<meta name="generator" content="blocksieve">')
_HEAD_BYTES = 1_000
# Controls except tab and line feed, marks that change the reading direction, and code points that UTF-8 cannot hold.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_MAX_NAME = 300


def inert(value: object) -> Markup:
    """Return a value for any place in HTML, quoted attributes included; Markup is returned as it is."""
    return value if isinstance(value, Markup) else escape(_UNSAFE.sub("", str(value)))


def render_page(template: str, package: str = "crawler.reports", **context: Any) -> Iterator[str]:
    """Yield a page piece by piece; its templates are those of a package, and ours that they extend."""
    return _environment(package).get_template(f"{template}.html.j2").generate(context)


def percent(share: float | None) -> str:
    """Return a share as a percentage, "–" for None."""
    return "–" if share is None else f"{share:.0%}"


def short(value: float | None) -> str:
    """Return an agreement in at most three characters, "–" for None."""
    if value is None:
        return "–"
    # Only full agreement is 1: a rounded-up 1 would say that nothing differs.
    return "1" if value == 1 else f"{min(value, 0.99):.2f}".removeprefix("0")


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Raise CompareError, which names the output, for an OSError of the block."""
    try:
        yield
    except OSError as error:
        raise CompareError(f"cannot write {str(out)!r}: {error.strerror or error}") from error


def check_output(out: Path, *, folder: bool = False) -> None:
    """Raise CompareError if the output cannot be written, or something is there that this program did not write."""
    with writing(out):
        if out.is_symlink() or (out.exists() and out.is_dir() != folder):
            kind = "folder" if folder else "file"
            raise CompareError(f"--html {str(out)!r} must be a {kind}, but something else is there")
        if out.exists() and not (_is_our_folder(out) if folder else _is_our_page(out)):
            raise CompareError(f"--html {str(out)!r} was not written by this program; it is not overwritten")
        if not out.parent.is_dir():
            raise CompareError(f"--html {str(out)!r}: there is no folder {str(out.parent)!r}")


def write_page(out: Path, parts: Iterable[str]) -> None:
    """Write a page as a whole or not at all; raises CompareError if it cannot be written."""
    with writing(out):
        replace_file(out, "".join(parts).encode())


def make_environment(loader: BaseLoader) -> Environment:
    """Return an environment in which each value that a template prints goes through `inert`."""
    environment = Environment(
        loader=loader,
        autoescape=True,
        finalize=inert,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "cut": _cut,
        "percent": percent,
        "thousands": "{:,}".format,
        "policy": _policy,
        "short": short,
    }
    environment.tests["web_address"] = _is_web_address
    return environment


def read_style(name: str) -> Markup:
    """Return one of the style sheets of the templates.

    `base.css` is for all pages, `elements.css` for the elements of rebuilt pages, and `report.css` for reports.
    """
    return Markup(PackageLoader("crawler.reports").get_source(Environment(autoescape=True), name)[0])  # noqa: S704 — our own file


@cache
def _environment(package: str) -> Environment:
    packages = dict.fromkeys((package, "crawler.reports"))
    environment = make_environment(ChoiceLoader([PackageLoader(name) for name in packages]))
    style_sheet = Markup("").join(map(read_style, ("base.css", "elements.css", "report.css")))
    environment.globals |= {"style_sheet": style_sheet, "generator": _GENERATOR}
    return environment


def _cut(text: str) -> str:
    """Return a title, file name or address, cut to a limit."""
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}…"


def _policy(style: str) -> str:
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _is_web_address(url: str | None) -> bool:
    try:
        return url is not None and urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return False


def _is_our_folder(folder: Path) -> bool:
    entries = list(folder.iterdir())
    named = all(_OUR_NAMES.fullmatch(entry.name) and entry.is_file() and not entry.is_symlink() for entry in entries)
    return not entries or (named and _is_our_page(folder / INDEX))


def _is_our_page(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        start = opened.read(_HEAD_BYTES)
    return not start or _GENERATOR.encode() in start
