"""Hints: what tags, classes, ids and roles say, and when they are not believed."""

import tomllib
from importlib import resources

import pytest

from cleaning import Reason, parse
from cleaning.features import enclosing, walk
from cleaning.hints import read_hints, spread

PROSE = "<p>The quick brown fox jumps over the lazy dog while the cat sleeps on the warm stove.</p>"


def reasons(page):
    """Return reason by text, for the texts that a hint speaks against."""
    leaves = walk(parse(page).root)
    found = read_hints(enclosing(leaves))
    return {leaf.block.text: found[leaf.node] for leaf in leaves if leaf.node in found}


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ("<nav>x</nav>", Reason.NAVIGATION),
        ('<ul class="breadcrumb"><li>x</li></ul>', Reason.NAVIGATION),
        ("<footer><p>x</p></footer>", Reason.FOOTER),
        ('<div role="contentinfo">x</div>', Reason.FOOTER),
        ('<div id="cookie-banner">x</div>', Reason.OVERLAY),
        ("<button>x</button>", Reason.FORM),
        ('<div class="box ad-300">x</div>', Reason.ADVERTISEMENT),
        ('<section class="RELATED">x</section>', Reason.RELATED),
        ('<div class="share_tools">x</div>', Reason.SOCIAL),
        ('<div id="comments">x</div>', Reason.COMMENT),
        ('<p class="byline">x</p>', Reason.BYLINE),
        ("<figure><figcaption>x</figcaption></figure>", Reason.CAPTION),
        ("<aside>x</aside>", Reason.ASIDE),
        ('<p class="visually-hidden">x</p>', Reason.HIDDEN),
    ],
)
def test_tag_or_word_names_the_reason(element, reason):
    assert reasons(element + PROSE) == {"x": reason}


@pytest.mark.parametrize("word", ["header", "read", "shadow", "download", "canvas", "uncommented", "adverb"])
def test_part_of_a_word_says_nothing(word):
    assert reasons(f'<div class="{word}" id="{word}">x</div>{PROSE}') == {}


def test_word_that_covers_most_of_the_prose_is_not_believed():
    thread = "".join(f'<li class="comment">{PROSE}</li>' for _ in range(3))
    assert reasons(f"<ol>{thread}</ol>{PROSE}") == {}
    assert set(reasons(f'{PROSE * 3}<ol><li class="comment">{PROSE}</li></ol>').values()) == {Reason.COMMENT}


def test_cookie_notice_longer_than_the_text_is_still_one():
    notice = f'<div class="cookie-consent">{PROSE * 5}</div>'
    assert set(reasons(f"{notice}<p>A sentence of its own stands here, and it is quite long.</p>").values()) == {
        Reason.OVERLAY
    }


def test_wrapper_of_the_whole_page_says_nothing():
    assert reasons(f'<body class="has-sidebar"><form class="modal"><div class="widget">{PROSE}</div></form>') == {}


def test_outermost_hint_counts():
    assert reasons(f'<footer><div class="share">x</div></footer>{PROSE}') == {"x": Reason.FOOTER}


def test_reasons_spread_inward():
    leaves = walk(parse("<div><section><p>x</p></section></div><p>y</p>").root)
    nodes = enclosing(leaves)
    spread_out = spread(nodes, {nodes[1]: Reason.LINKS})
    assert [node.tag for node in nodes] == ["body", "div", "section", "p", "p"]
    assert list(spread_out) == nodes[1:4]


def test_page_without_text_has_no_hints():
    assert read_hints([]) == {}


def test_every_table_is_a_reason_and_no_word_stands_twice():
    tables = tomllib.loads(resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8"))
    words = [word for levels in tables.values() for text in levels.values() for word in text.split()]
    assert set(tables) <= set(Reason)
    assert len(words) == len(set(words))
