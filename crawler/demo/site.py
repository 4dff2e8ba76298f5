"""The pages of the demo site, in `site.tar.gz` beside this module.

`replies.json` there is the table of what the site answers: by path and query, the status, the headers and the file of
the body. The path "" stands for all that are not in it. `truth.json` says what a perfect crawl finds: articles with
their blocks, families of duplicates, refusals, redirects and the noise around the articles. A place in it is the path
of an article and the index of a block. The families `exact` are complete: each block that equals another one but for
case, white space and markup is in one. The blocks of a group in `numbered` are no duplicates.

Articles, authors and prose were generated; nothing was taken from a site.
"""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. `etag` and `last_modified` are "" if the page has none; `location` is "" except for redirects."""

    status: int
    content_type: str
    body: bytes = b""
    etag: str = ""
    last_modified: str = ""
    location: str = ""


def read_replies() -> dict[str, Reply]:
    """Return the response to each request target (path and query) of the site."""
    files = _read_files()
    replies = {}
    for target, columns in json.loads(files["replies.json"]).items():
        replies[target] = Reply(**{**columns, "body": files[columns["body"]] if "body" in columns else b""})
    return replies


def read_truth() -> dict[str, Any]:
    """Return the finds of a perfect crawl of the site."""
    truth: dict[str, Any] = json.loads(_read_files()["truth.json"])
    return truth


def _read_files() -> dict[str, bytes]:
    with (
        resources.files("crawler.demo").joinpath("site.tar.gz").open("rb") as packed,
        tarfile.open(fileobj=packed) as archive,
    ):
        return {member.name: file.read() for member in archive if (file := archive.extractfile(member)) is not None}
