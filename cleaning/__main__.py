"""`python -m cleaning FILE`: clean one page in the shell."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import zlib
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cleaning._native import explain_missing_core
from cleaning.clean import clean
from cleaning.declare import declared_options
from cleaning.errors import OptionError, PageError, PageFault
from cleaning.methods import METHODS
from cleaning.options import Options, parse_option
from cleaning.parse import read_label
from cleaning.structure.clean_page import LINK_FORMS

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Sequence

    from cleaning.blocks import Decision
    from cleaning.structure.clean_page import CleanPage
    from cleaning.structure.writers.text import TextStyle

_FAILED, _MISUSED = 1, 2
_GZIP_START = b"\x1f\x8b"
_SHOWN_CHARS = 200
_EXAMPLES = """\
examples:
  python -m cleaning page.html
  curl -s URL | python -m cleaning - --url URL --format json
  python -m cleaning page.html --format markdown --links references
  python -m cleaning page.html.gz --format blocks --option max_blocks=500

exit code: 0 cleaned, 1 the file or the page cannot be read, 2 wrong usage
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Clean the page that the arguments name, print it, and return the exit code. The default is `sys.argv`."""
    parser = _parser()
    namespace = parser.parse_args(arguments)
    if (missing := explain_missing_core()) is not None:
        _say(missing)
    try:
        options = Options.read(dict(namespace.option))
        body = _read(namespace.file, options.max_bytes)
        page = clean(
            body, namespace.url, method=namespace.method, encoding=namespace.encoding, **dict(namespace.option)
        )
        output = (
            _STRUCTURED[namespace.format](page, namespace)
            if namespace.format in _STRUCTURED
            else _FORMATS[namespace.format](page)
        )
    except OptionError as error:
        parser.error(str(error))
    except PageError as error:
        return _fail(f"{namespace.file}: {error}")
    except (OSError, EOFError, zlib.error) as error:
        return _fail(f"cannot read {namespace.file}: {getattr(error, 'strerror', None) or error}")
    _write(output)
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the message in one sentence, without the usage, and exit with code 2."""
        self.exit(_MISUSED, f"{self.prog}: {_printable(message)} (--help says more)\n")


def _parser() -> _Parser:
    parser = _Parser(
        prog="python -m cleaning",
        description="Cut a saved HTML page into blocks, decide which ones are its main text, and print them.",
        epilog=f"options of cleaning:\n{_option_lines()}\n\n{_EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE|-", help="the page, gzipped or not; - reads standard input")
    parser.add_argument("--url", metavar="U", help="the page's URL; resolves its relative links")
    parser.add_argument(
        "--method", metavar="M", default="default", type=_method, help=f"{', '.join(METHODS)} (default: default)"
    )
    parser.add_argument(
        "--encoding",
        metavar="E",
        type=_encoding,
        help="the encoding that the HTTP header declared; default: the page's own declaration",
    )
    parser.add_argument(
        "--format",
        choices=(*_FORMATS, *_STRUCTURED),
        default="text",
        help="text: the kept blocks, one a line (default); layout: with the headline, signs of list items and rows of "
        "tables; markdown, html: the main text with its structure; json: the metadata and every block with its "
        "decision; blocks: a table of every block with its decision",
    )
    parser.add_argument(
        "--links",
        choices=LINK_FORMS,
        default="inline",
        help="addresses of links in markdown and html (default: inline)",
    )
    parser.add_argument("--images", action="store_true", help="include the images in markdown and html")
    parser.add_argument(
        "--no-html", action="store_true", help="write no HTML in markdown, also where Markdown has no form of its own"
    )
    parser.add_argument(
        "--option", metavar="NAME=VALUE", action="append", default=[], type=_option, help="see below; repeatable"
    )
    return parser


def _option_lines() -> str:
    return "\n".join(
        f"  {name}={str(option.default).lower()} ({option.type.allowed})\n      {option.help}"
        for name, option in declared_options(Options).items()
    )


def _method(name: str) -> str:
    try:
        METHODS.find(name)
    except OptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return name


def _encoding(label: str) -> str:
    if read_label(label) is None:
        raise argparse.ArgumentTypeError(f"unknown encoding {label!r}; known are the labels of the Encoding Standard")
    return label


def _option(text: str) -> tuple[str, Any]:
    try:
        return parse_option(text)
    except OptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _read(name: str, max_bytes: int) -> bytes:
    """Return the bytes of a file or of standard input (`-`), unpacked; reads at most one byte above the limit."""
    if name == "-":
        body = _unpack(sys.stdin.buffer, max_bytes + 1)
    else:
        with Path(name).open("rb") as file:
            body = _unpack(file, max_bytes + 1)
    if len(body) > max_bytes:
        message = f"the page has more than max_bytes={max_bytes} bytes; --option max_bytes=N allows more"
        raise PageError(PageFault.TOO_LARGE, message)
    return body


def _unpack(stream: BinaryIO | io.BufferedReader, most: int) -> bytes:
    packed = getattr(stream, "peek", bytes)(2).startswith(_GZIP_START)
    return gzip.GzipFile(fileobj=stream).read(most) if packed else stream.read(most)


def _as_text(page: CleanPage, style: TextStyle = "blocks") -> str:
    text = page.to_text(style=style)
    return f"{text}\n" if text else ""


def _as_json(page: CleanPage) -> str:
    fields = {
        "url": page.url,
        "method": page.method,
        "encoding": page.encoding,
        "parse_warnings": page.parse_warnings,
        "type": page.type,
        "confidence": page.confidence,
        "metadata": asdict(page.metadata),
        "counts": page.counts(),
        "decisions": [_decision(decision) for decision in page.decisions],
    }
    return json.dumps(fields, ensure_ascii=not _prints_unicode(), indent=2) + "\n"


def _decision(decision: Decision) -> dict[str, object]:
    outcome = {"kept": decision.kept, "reason": decision.reason, "score": decision.score}
    return outcome | asdict(decision.block)


def _as_table(page: CleanPage) -> str:
    table = Table(expand=True)
    for name in ("position", "decision", "score", "words"):
        table.add_column(name, justify="left" if name == "decision" else "right", no_wrap=True)
    table.add_column("text", ratio=1, no_wrap=True)
    for decision in page.decisions:
        table.add_row(*_row(decision), style="bold" if decision.kept else "dim")
    console = Console(file=sys.stdout)
    with console.capture() as captured:
        console.print(table)
        console.print(Text(", ".join(f"{count} {reason}" for reason, count in page.counts().items()) or "no blocks"))
    return captured.get()


def _row(decision: Decision) -> list[Text]:
    block = decision.block
    start = " ".join(block.text[:_SHOWN_CHARS].split())
    # Text, not str: the text of a page is never read as markup.
    return [Text(str(cell)) for cell in (block.position, decision.reason, f"{decision.score:.2f}", block.words, start)]


def _as_markdown(page: CleanPage, namespace: argparse.Namespace) -> str:
    return page.to_markdown(links=LINK_FORMS[namespace.links], images=namespace.images, html=not namespace.no_html)


def _as_html(page: CleanPage, namespace: argparse.Namespace) -> str:
    if namespace.links == "references":
        raise OptionError("--links is 'references', which HTML does not have; it takes 'inline' or 'none'")
    return page.to_html(links=namespace.links == "inline", images=namespace.images)


_STRUCTURED = {"markdown": _as_markdown, "html": _as_html}
_FORMATS: dict[str, Callable[[CleanPage], str]] = {
    "text": _as_text,
    "layout": partial(_as_text, style="layout"),
    "json": _as_json,
    "blocks": _as_table,
}


def _prints_unicode() -> bool:
    return sys.stdout.encoding.lower().startswith("utf")


def _write(text: str) -> None:
    """Print a text; escape what the terminal cannot encode, and allow an early end of the pipe (`| head`)."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a TextIOWrapper in a process
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes again at exit: send the rest to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> int:
    _say(message)
    return _FAILED


def _say(message: str) -> None:
    sys.stderr.write(f"python -m cleaning: {_printable(message)}\n")


def _printable(message: str) -> str:
    return message.encode("utf-8", "backslashreplace").decode()


if __name__ == "__main__":
    sys.exit(main())
