"""How well the structure of pages is kept: `page.markdown` beside the Markdown that other tools make of the same pages.

The pages are those of `marks.tsv`. Each kind of parts is scored on the pages that have it, each page by itself, then
averaged. All pages of a host are in the same half: the rules were made with a view to half A only.
"""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec

import peers
from lxml import html
from outline_marks import read_marks
from part_scores import EXACT, GRADED, score_parts
from report import Figures
from structure_parts import markdown_parts, open_parts, reference_parts

from cleaning import clean

OURS = "ours"
PACKAGES = {
    "html2text": "html2text",
    "markdownify": "markdownify",
    "trafilatura": "trafilatura",
    "readability": "readability-lxml",
}
_AGREEMENT = {"tables": "TEDS", "code": "edit similarity", "formulas": "edit similarity"}


def missing():
    """Return the distributions that are not installed."""
    return sorted(package for module, package in PACKAGES.items() if find_spec(module) is None)


def makers():
    """Return the calls from a page's bytes and address to Markdown, by name."""
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL + 1)
    logging.getLogger("readability").setLevel(logging.CRITICAL + 1)
    return {
        OURS: our_markdown,
        "trafilatura": _trafilatura(),
        "trafilatura, recall": _trafilatura(favor_recall=True),
        "readability-lxml, html2text": _html2text(),
        "readability-lxml, markdownify": _markdownify(),
    }


def our_markdown(body, url):
    return clean(body, url, encoding="utf-8").markdown


def _trafilatura(**flags):
    extract = import_module("trafilatura").extract
    flags |= {"output_format": "markdown", "include_links": True, "include_formatting": True, "include_tables": True}
    return lambda body, url: extract(body, url=url, **flags)


def _fragment(body, url):
    """Return readability's fragment of a page, with absolute addresses."""
    summary = import_module("readability").Document(peers.decode(body)).summary()
    root = html.document_fromstring(summary)
    root.make_links_absolute(url, handle_failures="ignore")
    return html.tostring(root, encoding="unicode")


def _html2text():
    module = import_module("html2text")

    def convert(body, url):
        converter = module.HTML2Text(bodywidth=0)
        converter.ignore_images = True
        converter.mark_code = False
        return converter.handle(_fragment(body, url))

    return convert


def _markdownify():
    convert = import_module("markdownify").markdownify
    return lambda body, url: convert(_fragment(body, url), heading_style="ATX", strip=["img"])


def measure(pages):
    """Return the scores by tool and kind: those of each page that has the kind, by set and id."""
    tools = makers()
    scores_by_tool = {name: {kind: {} for kind in (*EXACT, *GRADED)} for name in tools}
    for page in pages:
        expected = reference_parts(page)
        open_ = open_parts(page)
        for name, make in tools.items():
            parts = markdown_parts(
                peers.attempt(lambda body, make=make, page=page: make(body, page.sample.url), page.body)
            )
            for kind, score in score_parts(parts, expected, open_).items():
                scores_by_tool[name][kind][page.set, page.sample.id] = score
    return scores_by_tool


def tables(half="all"):
    """Return the figures as tables: a row for each measure, a column for each tool. `half` is A, B or all."""
    scores_by_tool = measure([page for page in read_marks() if half == "all" or page.sample.half == f"hosts {half}"])
    versions = {name: _versioned(name) for name in scores_by_tool}
    rows = []
    for kind in (*EXACT, *GRADED):
        pages = scores_by_tool[OURS][kind]
        if not pages:
            continue
        for label, field in _measures(kind):
            means = [
                sum(getattr(score, field) for score in of[kind].values()) / len(pages) for of in scores_by_tool.values()
            ]
            rows.append([kind, label, str(len(pages)), *(f"{mean:.3f}" for mean in means)])
    title = "structure of marked pages" + ("" if half == "all" else f", hosts {half}")
    return [Figures(title, ("parts", "measure", "pages", *versions.values()), rows)]


def _measures(kind):
    graded = [(_AGREEMENT[kind], "agreement")] if kind in GRADED else []
    return [("kept", "kept"), ("F1", "f1"), *graded]


def _versioned(name):
    packages = [part.split(",")[0].strip() for part in name.split(", ")]
    known = [package for package in packages if package in PACKAGES.values()]
    return f"{name} ({', '.join(version(package) for package in known)})" if known else name
