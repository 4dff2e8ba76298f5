"""Pages of one repeated part, of any size, on which a careless program takes more time than the page has bytes."""

_PROSE = "It rained for the ninth day, and the river, which had been low all summer, took the mill's old bridge. "
_LD = '<script type="application/ld+json">{"@type": "NewsArticle", "author": {"name": "Ada %d"}}</script>'
_ITEM = "<div itemscope itemtype='https://schema.org/Article'><i itemprop=author>Ada %d</i><p itemprop=headline>a</div>"
_HAN = "\u4e2d\u6587\u5b57"
_NESTED = "<div>one, two " * 90 + "</div>three " * 90

# What begins the page, and the part of each number; "%d" stands for the number.
KINDS = {
    "attributes": ("", "<p a%d=1 b%d=2 c%d>one, two</p>"),
    "angle quotes": ("<p>", "\u2039"),
    "full stops": ("<p>", "."),
    "one word": ("<p>", "x"),
    "blanks": ("<pre>x", " \n"),
    "combining characters": ("<p>a", "\u0301\u0316"),
    "Chinese without marks": ("<p>", _HAN),
    "Chinese blocks": ("", f"<div>{_HAN * 20}</div>"),
    "references": ("<p>", "&amp;&b;"),
    "open tags": ("<p>", "<"),
    "open comments": ("<p>", "<!--"),
    "end tags": ("<p>", "</html>x</p>"),
    "unclosed div": ("", "<div>one, two %d"),
    "unclosed div of prose": ("", f"<div>%d {_PROSE}"),
    "unclosed form": ("", "<form>x %d"),
    "unclosed links": ("", "<a href='/%d'>one %d"),
    "unclosed inline tags": ("", "<b>x, <font>y %d"),
    "unclosed tables": ("", "<table><tr><td>x %d"),
    "lists": ("", "<ul><li>entry %d<ul><li>of the list %d</ul></ul>"),
    "definitions": ("<dl>", "<dt>a %d<dd>b"),
    "deep siblings": ("<div>" * 400, "<p>one, two %d</p>"),
    "deep inline siblings": ("<span>" * 400, "<i>one, </i>two %d"),
    "deep images": ("<div>" * 400, "<img src='/%d.png' alt=one>"),
    "nested and closed": ("", _NESTED),
    "breaks": ("<p>", "one, two %d<br>"),
    "spans of cells": ("<table>", "<tr><td rowspan=65534 colspan=1000>x %d</td></tr>"),
    "many cells": ("<table><tr>", "<td>x %d</td>"),
    "headings": ("<title>one two</title>", "<h1>one %d two</h1>"),
    "links": ("", "<li><a href='https://h%d.example.org/'>one %d</a>"),
    "classes": ("", "<div class='a%d share comment b%d'>one, two %d</div>"),
    "one long class": ("<div class='", "a%d bC-"),
    "one long address": ("<a href='/", "../a%d/"),
    "one long title": ("<title>", "word%d | "),
    "meta elements": ("", "<meta name=author content='Ada %d'>"),
    "linked data": ("", _LD),
    "one linked document": ("<script type='application/ld+json'>", '{"a%d": ['),
    "microdata": ("", _ITEM),
    "times": ("", "<time datetime='2024-05-01'>1 May 2024, %d</time>"),
    "bylines": ("", "<p class=byline>By Ada Quill %d</p>"),
    "equal prose": ("", f"<div><p>{_PROSE}</p></div>"),
    "prose": ("", f"<div><p>%d {_PROSE}</p></div>"),
    "words of their own": ("<p>", "word%d "),
    "hidden script": ("<noscript>", "<p>one two %d</p>"),
    "forms": ("", "<form action='/search'><input name=q%d></form>x"),
    "pictures": ("", "<img src='https://x.example/%d.png' alt='a %d' width=468 height=60>"),
    "comments of readers": ("", "<div class=comment><p>Reader %d said that it rained.</p></div>"),
}
# The same for the structure of a page whose every text is kept.
STRUCTURE_KINDS = {
    "nested quotes": ("", "<blockquote>x %d"),
    "nested captions": ("", "<figcaption>x %d"),
    "nested lists": ("", "<ul><li>x %d"),
    "nested tables": ("", "<table><tr><th>a<td>x %d"),
    "cells of a table": ("<table><tr><th>a<th>b", "<tr><td>1<td>2"),
    "rows of a table": ("<table>", "<tr><th>x %d<td rowspan=9 colspan=9>y<td>z</tr>"),
    "backticks": ("<p>", "`"),
    "code of backticks": ("<pre>", "`"),
    "spans of backticks": ("<p>", "<code>`%d``</code>"),
    "emphasis": ("<p>", "<b>x*</b>*_<i>_y%d</i>"),
    "TeX": ("<script src=mathjax.js></script><p>", "$$x_%d \\( \\[ "),
    "formulas in formulas": ("", "<span class=katex>x %d"),
    "footnotes": ("", "<p>x<a href='#fn%d'>%d</a><div id='fn%d'>note</div>"),
    "images between texts": ("<p>x</p>", "<img src=/%d.png><p>y</p>"),
    "images without texts": ("<p>x</p>", "<div><img src=/%d.png></div>"),
    "breaks of a heading": ("<h2>", "x<br>"),
    "items without a list": ("<p>x", "<li>x %d"),
    "terms without descriptions": ("<dl>", "<dt>x %d"),
    "lists in a cell": ("<table><tr><th>a<td>b<tr><td>", "<ul><li>x"),
    "captions in lists": ("", "<ul><li><figcaption>x %d"),
}


def hostile_page(kind, size):
    """Return a page of a kind with about this number of bytes."""
    before, part = (KINDS | STRUCTURE_KINDS)[kind]
    parts = [before]
    length = len(before)
    count = part.count("%d")
    while length < size:
        parts.append(part % ((len(parts),) * count) if count else part)
        length += len(parts[-1].encode())
    return "".join(parts).encode()
