"""Digests of what cleaning makes of many pages, as JSON lines: the compiled core and pure Python must write the same.

    python tests/support/twin_pages.py [FOLDER]

The pages are those of tests/golden, hostile ones, and made-up ones of a fixed seed with odd elements, attributes, words
and bytes; with FOLDER, some real ones of the development data too.
"""

import gzip
import json
import random
import sys
from pathlib import Path

from hostile_pages import KINDS, STRUCTURE_KINDS, hostile_page
from xxhash import xxh3_64_hexdigest

from cleaning import PageError, clean, parse
from cleaning.fingerprint import WEIGHTINGS, fingerprint_terms
from cleaning.terms import terms

GOLDEN = Path(__file__).parents[1] / "golden"
URL = "https://www.example.com/news/one.html"
TAGS = (
    "a a b em code span sup br p p div div section ul ol li li dl dt dd table tr td th caption thead pre "
    "blockquote h1 h2 h4 figure figcaption img hr math script noscript svg o:p article aside nav header footer "
    "time cite form input title meta"
).split()
ATTRIBUTES = [
    "",
    "",
    "",
    ' href="/x?a=1&amp;b"',
    ' href="#fn1"',
    ' href="https://other.example/"',
    ' href="//[bad"',
    ' id="fn1"',
    ' id="fnref1"',
    ' class="share comment footer"',
    ' class="katex"',
    ' class="language-python hljs"',
    ' class="sr-only" hidden',
    ' class="bbcode_quote quote"',
    ' colspan="2" rowspan="3"',
    ' rowspan="-1" colspan="70000"',
    ' src="/i.png" alt="$x^2$" width="468" height="60"',
    ' type="math/tex; mode=display"',
    ' type="application/ld+json"',
    ' style="display:none"',
    ' style="font-weight: bold"',
    ' role="main" aria-hidden="true"',
    ' itemprop="author" datetime="2024-05-01"',
    ' property="og:title" content="A title"',
]
STEMS = (
    "relat conditi hop plac troubl fil agre decid hesit vietnam operat formal gyroscop probat controll y sk dy".split()
)
ENDINGS = (
    "ational tional enci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti "
    "iviti biliti icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion ou "
    "ism ate iti ous ive ize sses ies ss s eed ed ing ying y e ll"
).split()
ODD = [
    "中文，好。",
    "日本語です",
    "ß<i>İ</i>",
    "ﬁne",
    "x" * 300,
    "12.5 %",
    "\x01\x7f",
    "&#x1F600;",
    "a\u0301\u0316",
    "...",
    "«q»",
    "\n",
    " ",
]


def made_up(chance):
    """Return a page of elements in any order, closed or not."""

    def words():
        several = (chance.choice(STEMS) + chance.choice(ENDINGS) for _ in range(chance.randint(1, 25)))
        return " ".join([*several, chance.choice(ODD) if chance.random() < 0.3 else "the end."])

    def element(depth):
        tag = chance.choice(TAGS)
        inner = [
            element(depth + 1) if depth < 9 and chance.random() < 0.5 else words() for _ in range(chance.randint(0, 3))
        ]
        return f"<{tag}{chance.choice(ATTRIBUTES)}>{''.join(inner)}{f'</{tag}>' if chance.random() < 0.9 else ''}"

    return "".join(element(0) for _ in range(chance.randint(1, 12)))


def pages(folder):
    """Yield the name and bytes of each page."""
    for path in sorted(GOLDEN.glob("*/page.html")):
        yield f"golden {path.parent.name}", path.read_bytes()
    for kind in sorted({*KINDS, *STRUCTURE_KINDS}):
        yield f"hostile {kind}", hostile_page(kind, 6_000)
    chance = random.Random(7)
    for number in range(150):
        body = bytearray(made_up(chance).encode())
        for _ in range(chance.choice((0, 0, 0, 3))):  # some are broken
            body[chance.randrange(len(body))] = chance.randrange(256)
        yield f"made up {number}", bytes(body)
    for path in sorted(folder.glob("extraction/*/html/*.gz"))[::60] if folder else ():
        yield f"{path.parents[1].name} {path.name}", gzip.decompress(path.read_bytes())


def describe(body):
    """Return all that is made of a page."""
    try:
        page = parse(body, URL)
    except PageError as error:
        return {"error": str(error)}
    cleaned = clean(page)
    texts = [decision.block.text for decision in cleaned.decisions]
    term_lists = [terms(text) for text in texts]
    return {
        "decisions": [repr(decision) for decision in cleaned.decisions],
        "type": str(cleaned.type),
        "metadata": repr(cleaned.metadata),
        "markdown": cleaned.markdown,
        "html": cleaned.to_html(),
        "terms": term_lists,
        "fingerprints": [[fingerprint_terms(words, weighting=name) for name in WEIGHTINGS] for words in term_lists],
        "warnings": [str(warning) for warning in cleaned.parse_warnings],
    }


if __name__ == "__main__":
    for name, body in pages(Path(sys.argv[1]) if len(sys.argv) > 1 else None):
        made = {
            what: xxh3_64_hexdigest(repr(value).encode("utf-8", "surrogatepass"))
            for what, value in describe(body).items()
        }
        print(json.dumps([name, made]))
