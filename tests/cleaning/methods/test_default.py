"""Our own method: what users want of it, on pages that look like real ones."""

import pytest
from cpu_time import bounded_cpu_time
from news_pages import LANGUAGES

from cleaning import METHODS, Kind, Options, Reason, clean, parse
from cleaning.blocks import PageType
from cleaning.clean import decide_page
from cleaning.metadata.statements import read_statements

URL = "https://www.example.org/2024/05/bridge-opens"
ENGLISH = LANGUAGES["english"]
FOX = "The quick brown fox jumps over the lazy dog, and the cat on the warm stove looks at it."
MENU = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in ("Home", "Forum", "Members", "Search", "Help"))
HEAD = f'<header class="site-header"><nav class="menu"><ul>{MENU}</ul></nav></header>'
FOOT = '<footer class="site-footer"><p>© 2024 Example. All rights reserved. <a href="/privacy">Privacy</a></p></footer>'


def framed(title, main):
    """Return a page with a menu and a foot around its main part."""
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{HEAD}<main>{main}</main>{FOOT}</body></html>"
    )


def thread():
    """Return a thread of a forum: posts with what stands beside them."""
    posts = "".join(
        f'<div class="post" id="post-{number}"><div class="postprofile"><a href="/u/{number}">member{number}</a>'
        f"<dl><dt>Posts:</dt><dd>{number}07</dd></dl></div>"
        f'<div class="postbody"><div class="content">{text}</div></div></div>'
        for number, text in enumerate(ENGLISH.paragraphs)
    )
    stated = '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script>'
    return framed("Old harbour bridge - Forum", f'<h2 class="topic-title">Old harbour bridge</h2>{stated}{posts}')


def listing():
    """Return a section page: headlines with teasers that lead to articles."""
    teasers = "".join(
        f'<article class="teaser"><h2><a href="/news/story-{number}">{text.split(".")[0]}</a></h2>'
        f'<p class="summary">{text}</p><a class="more" href="/news/story-{number}">Read more</a></article>'
        for number, text in enumerate(ENGLISH.sentences * 2)
    )
    pager = "".join(f'<li><a href="/news/page/{number}">{number}</a></li>' for number in range(1, 9))
    return framed("News archive", f'<h1>News</h1>{teasers}<nav class="pagination"><ul>{pager}</ul></nav>')


PARTS = f"""
<h1>Of lanterns</h1><p>{ENGLISH.paragraphs[0]}</p>
<h2>What is needed</h2><ul><li>A wick of woven cotton, as long as a hand</li><li>Half a litre of clean oil</li></ul>
<h2>Weights and sizes</h2><p>{ENGLISH.paragraphs[1]}</p>
<table><tr><th>Part of the lantern</th><th>Weight in grams</th></tr>
<tr><td>The glass</td><td>214 grams</td></tr></table>
<h2>How to light it</h2><p>{ENGLISH.paragraphs[2]}</p><pre><code>light --oil half-a-litre
wait --minutes 2</code></pre>
<blockquote>Never leave a lantern alone, said my grandmother, for it does not like the dark.</blockquote>
<p>{ENGLISH.paragraphs[3]}</p>
"""


def kept(page, url=URL, **options):
    return [block.text for block in clean(page, url, **options).kept]


def reasons(page, **options):
    """Return reason by text."""
    return {decision.block.text: decision.reason for decision in clean(page, URL, **options).decisions}


@pytest.mark.parametrize("name", LANGUAGES)
def test_article_is_kept_and_nothing_around_it(name):
    language = LANGUAGES[name]
    cleaned = clean(language.page, URL)
    texts = [block.text for block in cleaned.kept if block.text != language.title]
    assert texts == language.paragraphs
    assert cleaned.type is PageType.ARTICLE
    assert 0.5 < cleaned.confidence <= 1


@pytest.mark.parametrize("name", LANGUAGES)
def test_dropped_blocks_have_reasons(name):
    language = LANGUAGES[name]
    reason_of = reasons(language.page)
    assert reason_of[language.cookies] is Reason.OVERLAY
    assert reason_of[language.foot] is Reason.FOOTER
    assert reason_of[language.caption] is Reason.CAPTION
    assert {reason_of[word] for word in language.menu} == {Reason.NAVIGATION}
    assert {reason_of[word] for word in language.related} == {Reason.RELATED}
    assert {reason_of[word] for word in language.comments} == {Reason.COMMENT}


def test_class_around_most_of_the_text_is_not_believed():
    page = framed("Bridge", f"<aside>{''.join(f'<p>{text}</p>' for text in ENGLISH.paragraphs)}</aside>")
    assert set(ENGLISH.paragraphs) <= set(kept(page))


def test_comments_are_kept_where_they_are_asked_for():
    long = "I have waited for this bridge since I was a child, and now my own children cross it on their way to school."
    page = ENGLISH.page.replace(ENGLISH.comments[0], long)
    assert long not in kept(page)
    with_comments = kept(page, comments=True)
    assert [text for text in with_comments if text not in kept(page)] == [long, ENGLISH.comments[1]]


def test_favour_trades_lost_text_for_surplus_text():
    for page in (ENGLISH.page, listing(), thread(), framed("Lanterns", PARTS)):
        precise, balanced, complete = (kept(page, favour=word) for word in ("precision", "balanced", "recall"))
        assert set(precise) <= set(balanced) <= set(complete)


def test_posts_of_a_forum_are_kept():
    cleaned = clean(thread(), "https://forum.example.org/viewtopic.php?t=12")
    assert cleaned.type is PageType.FORUM
    assert set(ENGLISH.paragraphs) <= {block.text for block in cleaned.kept}
    assert not {"Members", "Search", "Help"} & {block.text for block in cleaned.kept}


def test_listing_is_no_sure_article_and_keeps_its_teasers():
    cleaned = clean(listing(), "https://www.example.org/news/")
    assert cleaned.type is not PageType.ARTICLE or cleaned.confidence < 0.5
    texts = {block.text for block in cleaned.kept}
    assert set(ENGLISH.sentences) <= texts
    assert not {"7", "8", "Help"} & texts


@pytest.mark.parametrize("page", ["", "<html><body></body></html>", "<script>let x = 1</script>"])
def test_page_without_text_has_no_type(page):
    cleaned = clean(page)
    assert (cleaned.type, cleaned.confidence, cleaned.decisions) == (None, None, ())


def test_other_methods_have_no_opinion_on_the_type():
    cleaned = clean(ENGLISH.page, method="eniw")
    assert (cleaned.type, cleaned.confidence) == (None, None)


def test_headings_lists_tables_code_and_quotes_keep_their_kinds():
    kinds = {block.text: block.kind for block in clean(framed("Lanterns", PARTS), URL).kept}
    expected = {
        "What is needed": Kind.HEADING,
        "How to light it": Kind.HEADING,
        "A wick of woven cotton, as long as a hand": Kind.LIST_ITEM,
        "Half a litre of clean oil": Kind.LIST_ITEM,
        "Part of the lantern": Kind.TABLE_CELL,
        "214 grams": Kind.TABLE_CELL,
        "light --oil half-a-litre\nwait --minutes 2": Kind.CODE,
        "Never leave a lantern alone, said my grandmother, for it does not like the dark.": Kind.QUOTE,
    }
    assert {text: kinds.get(text) for text in expected} == expected


def test_words_are_parted_at_blocks_and_breaks_and_joined_across_inline_tags():
    text = f"{ENGLISH.sentences[0]}<br>{ENGLISH.sentences[1]} It was un<b>believ</b>able."
    page = framed("Bridge", f"<h1>Bridge</h1><div><p>{text}</p><p>{ENGLISH.paragraphs[1]}</p></div>" + PARTS)
    whole = "\n".join(kept(page))
    assert "of work.Thousands" not in whole
    assert "It was unbelievable." in whole
    assert "The glass214" not in whole


def test_several_containers_keep_their_sections():
    sections = "".join(
        f'<section class="row"><div class="col"><h2>Part {number} of the story</h2><p>{text}</p></div></section>'
        for number, text in enumerate(ENGLISH.paragraphs)
    )
    texts = kept(framed("The story of the bridge", f"<h1>The story of the bridge</h1>{sections}"))
    assert [text for text in texts if text in ENGLISH.paragraphs] == ENGLISH.paragraphs
    assert sum(text.startswith("Part ") for text in texts) == len(ENGLISH.paragraphs)


def test_in_is_out_and_scores_are_probabilities():
    cleaned = clean(thread(), URL)
    assert len(cleaned.decisions) == len(METHODS["default"].segment(parse(thread()), Options()))
    assert [decision.block.position for decision in cleaned.decisions] == list(range(len(cleaned.decisions)))
    assert all(0 <= decision.score <= 1 for decision in cleaned.decisions)


@pytest.mark.parametrize("page", [ENGLISH.page, thread(), listing()], ids=["article", "forum", "listing"])
def test_three_steps_decide_the_same_as_decide_page(page):
    tree = parse(page, URL)
    method = METHODS["default"]
    options = Options()
    leaves = method.segment(tree, options)
    by_steps = method.decide(tree, leaves, method.score(tree, leaves, options), options)
    assert decide_page(tree, read_statements(tree.root), method, options).decisions == by_steps


def test_blocks_beyond_the_bound_are_truncated():
    cleaned = clean("".join(f"<p>{FOX} {number}</p>" for number in range(150)), max_blocks=100)
    assert cleaned.counts()[Reason.TRUNCATED] == 50
    assert [decision.reason for decision in cleaned.decisions[100:]] == [Reason.TRUNCATED] * 50
    assert cleaned.type is not None


@pytest.mark.parametrize(
    "page",
    [
        '<div class="comment">' * 1_500 + f"<p>{FOX}</p>" * 20_000,
        f'<div class="c{{}}"><p>{FOX}</p></div>' * 20_000,
        "<h1>x y</h1>" * 20_000 + f"<p>{FOX}</p>",
        "<table><tr>" + "<td>1 2</td>" * 30_000,
        f'<script type="application/ld+json">{{"@type": "Article", "articleBody": "{FOX * 5_000}"}}</script>'
        + f"<p>{FOX * 5_000}</p>" * 5,
    ],
    ids=["deep", "classes", "headlines", "cells", "stated"],
)
def test_odd_pages_take_bounded_time(page):
    with bounded_cpu_time():
        clean(page)
