"""JSON-LD of a page: its objects, what they are, and the text that they give as the page's."""

from __future__ import annotations

import json
import re
from collections import deque
from html import unescape
from typing import TYPE_CHECKING, Any

from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MOST_CHARS = 1_000_000  # of all scripts together
_MOST_OBJECTS = 2_000
_MOST_TYPES = 50
_LONGEST_TYPE = 100  # characters
_LONGEST_BODY = 200_000  # characters
_MOST_POSTS = 500
_START = re.compile(r"(?<!CDATA)[\[{](?!CDATA)")
_TRAILING_COMMA = re.compile(r",(?=\s{0,99}[}\]])")
_DECODER = json.JSONDecoder(strict=False)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,1000}>|<!--|-->")
# Below these keys stand further objects that say what the page is; below any other its author, publisher, parts.
_INNER = ("@graph", "mainEntity", "mainEntityOfPage")
_POSTS = frozenset({"question", "discussionforumposting", "socialmediaposting", "answer", "comment"})
_REPLIES = ("acceptedAnswer", "suggestedAnswer", "comment")
# What their description describes is the page's subject itself; an article's only sums it up.
_DESCRIBED = frozenset(
    "product productgroup individualproduct service softwareapplication event jobposting course book movie recipe"
    " localbusiness hotel restaurant place touristattraction vacationrental".split()
)


def read_objects(scripts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON-LD scripts that say what the page is, breadth first; broken scripts are passed over."""
    queue: deque[Any] = deque()
    left = _MOST_CHARS
    for script in scripts:
        if len(script) <= left:
            left -= len(script)
            queue.extend(_documents(script))
    for _ in range(_MOST_OBJECTS):
        if not queue:
            return
        node = queue.popleft()
        if isinstance(node, list):
            queue.extend(node[:_MOST_OBJECTS])
        elif isinstance(node, dict):
            yield node
            if "faqpage" not in type_names(node):  # its questions are no posts, and on most pages beside the point
                queue.extend(node[key] for key in _INNER if key in node)


def type_names(found: Mapping[str, Any]) -> list[str]:
    """Return the lower-cased names of an object's types, without the vocabulary's address; empty where it has none."""
    types = found.get("@type")
    names = types if isinstance(types, list) else [types]
    return [last_part(name) for name in names[:_MOST_TYPES] if isinstance(name, str)]


def last_part(name: str) -> str:
    """Return the last part of a type's address, lower-cased (`https://schema.org/NewsArticle` is `newsarticle`)."""
    return name.strip().rstrip("/")[-_LONGEST_TYPE:].rpartition("/")[2].lower()


def body_text(found: Mapping[str, Any]) -> str:
    """Return the text that an object gives as the page's, without tags and on one line; "" where it gives none."""
    types = frozenset(type_names(found))
    if types & _POSTS:
        return _plain(" ".join(_posts(found)))
    texts = [_text(found.get("articleBody")), _text(found.get("text"))]
    if types & _DESCRIBED:
        texts.append(_text(found.get("description")))
    return _plain(max(texts, key=len))


def _documents(script: str) -> Iterator[Any]:
    """Yield the JSON documents of a script; many pages wrap them in comments, escape them or leave commas over."""
    start = _START.search(script)
    if start is None:
        return
    try:
        document, end = _DECODER.raw_decode(script, start.start())
    except (ValueError, RecursionError):
        yield from _repaired(script[start.start() :])
        return
    yield document
    if following := _START.search(script, end):
        yield from _decoded(script[following.start() :])


def _repaired(script: str) -> Iterator[Any]:
    mended = _TRAILING_COMMA.sub("", unescape(script) if "&quot;" in script else script)
    if mended != script:
        yield from _decoded(mended)


def _decoded(script: str) -> Iterator[Any]:
    try:
        yield _DECODER.raw_decode(script)[0]
    except (ValueError, RecursionError):
        return


def _posts(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a post and its replies, in their order."""
    stack: list[Any] = [found]
    for _ in range(_MOST_POSTS):
        if not stack:
            return
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node[:_MOST_POSTS]))
        elif isinstance(node, dict):
            yield _text(node.get("articleBody")) or _text(node.get("text"))
            stack.extend(node[key] for key in reversed(_REPLIES) if key in node)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    text = text[:_LONGEST_BODY]
    if "&" in text:
        text = unescape(text)
    return normalise(_TAG.sub(" ", text) if "<" in text else text)
