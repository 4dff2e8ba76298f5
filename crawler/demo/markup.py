"""An article's passages as HTML."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from cleaning.blocks import Kind
from crawler.demo.model import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawler.demo.model import Draft, Passage

# What stands around each block of a kind.
_AROUND = {
    Kind.PARAGRAPH: "<p>{}</p>",
    Kind.HEADING: "<h2>{}</h2>",
    Kind.LIST_ITEM: "<li>{}</li>",
    Kind.TABLE_CELL: "<td>{}</td>",
    Kind.QUOTE: "<blockquote>{}</blockquote>",
    Kind.CODE: "<pre><code>{}</code></pre>",
}
_COLUMNS = 2


def body_parts(draft: Draft) -> list[str]:
    """Return the body in two parts, the first paragraph and the rest: the site puts an advertisement in between."""
    if draft.bare:
        lines = [_inline(passage) for passage in draft.passages]
        return [lines[0] + "<br>\n<br>", "<br>\n<br>\n".join(lines[1:])]
    runs = [_run(kind, list(run)) for kind, run in groupby(draft.passages[1:], key=lambda passage: passage.kind)]
    return [_run(draft.passages[0].kind, draft.passages[:1]), "\n".join(runs)]


def _run(kind: Kind, passages: Sequence[Passage]) -> str:
    """Return neighbouring passages of one kind, with the list or table around them."""
    blocks = [_AROUND[kind].format(_inline(passage)) for passage in passages]
    if kind is Kind.LIST_ITEM:
        return "<ul>\n" + "\n".join(blocks) + "\n</ul>"
    if kind is Kind.TABLE_CELL:
        rows = ("".join(blocks[n : n + _COLUMNS]) for n in range(0, len(blocks), _COLUMNS))
        return '<table border="1">\n' + "\n".join(f"<tr>{row}</tr>" for row in rows) + "\n</table>"
    return "\n".join(blocks)


def _inline(passage: Passage) -> str:
    words = escape(passage.text, quote=False).split(" ")
    match passage.markup:
        case Markup.EMPHASISED:
            words[:3] = ["<b>" + " ".join(words[:3]) + "</b>"]
            words[-2:] = ["<em>" + " ".join(words[-2:]) + "</em>"]
        case Markup.LINKED:
            words[4:7] = ['<a href="http://foxglade.example/guide">' + " ".join(words[4:7]) + "</a>"]
        case Markup.SPREAD:
            words = [word + "\n\t" if n % 7 == 0 else word + " " for n, word in enumerate(words)]
        case Markup.PLAIN:
            pass
    return " ".join(words)
