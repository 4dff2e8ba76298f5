"""What all pages that we write share: inert text, one style sheet, a policy that loads and runs nothing."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Collection

GENERATOR = "blocksieve"
# Controls but tab and line feed, marks that reverse the reading direction, and what UTF-8 cannot hold.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_LONGEST_NAME = 300


class Colour(NamedTuple):
    """A method's colour, and the same mixed with white, to be written on."""

    full: str
    tint: str


# Okabe and Ito's palette, then Tol's "muted" one: told apart by the colour-blind too. A number stands beside each.
_PALETTE = (
    "#0072b2 #e69f00 #009e73 #cc79a7 #56b4e9 #d55e00 #332288 #999933 #882255 #44aa99 #ddcc77 #aa4499 #117733 #666666"
).split()
_TINT_SHARE = 0.18


def colour(place: int) -> Colour:
    """Return the colour of the method at a place; they come again after 14."""
    full = _PALETTE[place % len(_PALETTE)]
    channels = [int(full[i : i + 2], 16) for i in (1, 3, 5)]
    mixed = [round(255 - (255 - channel) * _TINT_SHARE) for channel in channels]
    return Colour(full, "#" + "".join(f"{channel:02x}" for channel in mixed))


def inert(text: str) -> str:
    """Return the text for any place in HTML, in quoted attributes too, without what it could do there."""
    return escape(_UNSAFE.sub("", text))


def name(text: str) -> str:
    """Return a file's name or a title, cut to a bound."""
    return inert(text if len(text) <= _LONGEST_NAME else text[:_LONGEST_NAME] + "…")


def address(url: str | None) -> str:
    """Return a link to the page itself, plain text for what is no http or https URL, "" for none."""
    if url is None:
        return ""
    try:
        known = urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        known = False
    if not known:
        return name(url)
    return f'<a href="{inert(url)}" rel="noreferrer noopener nofollow">{name(url)}</a>'


def document(title: str, rules: Collection[str]) -> str:
    """Return the beginning of a page, up to the opened body; the rules are added to the style sheet."""
    style = resources.files("crawler.compare").joinpath("style.css").read_text("utf-8") + "\n".join(rules)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="generator" content="{GENERATOR}">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )


def percent(share: float | None) -> str:
    """Return a share for readers, "–" for none."""
    return "–" if share is None else f"{share:.0%}"


def short(value: float | None) -> str:
    """Return an agreement in three characters, 1 where it is complete, "–" for none."""
    if value is None:
        return "–"
    # Never rounded up to 1: that would say that nothing differs.
    return "1" if value == 1 else f"{min(value, 0.99):.2f}".removeprefix("0")
