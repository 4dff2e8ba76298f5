"""Serve the demo site, or write its ground truth."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from crawler.demo.server import REQUESTS_PATH, DemoServer
from crawler.demo.site import read_replies, read_truth

if TYPE_CHECKING:
    from types import FrameType

_DESCRIPTION = """\
Serve a small article site on 127.0.0.1 until interrupted, and print its URL.

It has ezinearticles' addresses and markup: 3 categories with subcategories, about 170 articles of
generated prose, and 20 links on each listing page. The pages have the boilerplate of a real site.
The articles include exact and near-duplicate paragraphs, near-duplicate articles, redirects, and
links that end at a 403, a CAPTCHA, a quota page, a removed article, a PDF, an image, or a path that
robots.txt forbids. The site also answers as an HTTP proxy for any host name, so that its pages keep
their URLs when the port changes."""
_EPILOG = f"""\
examples:
  python -m crawler.demo
  python -m crawler.demo --port 8000
  python -m crawler.demo --truth truth.json

{REQUESTS_PATH} on the running site returns, as JSON, how often each page was requested."""


def main(arguments: list[str] | None = None) -> int:
    # First, so that a signal during start-up also ends the program quietly.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _exit)
    options = _parser().parse_args(arguments)
    if options.truth:
        options.truth.write_text(json.dumps(read_truth(), indent=1, ensure_ascii=False) + "\n", "utf-8")
        return 0
    with DemoServer(options.port, read_replies()) as server:
        print(server.url, flush=True)  # noqa: T201 — the line that callers wait for
        server.serve_forever()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m crawler.demo",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    parser.add_argument(
        "--truth", type=Path, metavar="FILE", help="write the ground truth as JSON to FILE; serve nothing"
    )
    return parser


def _exit(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
