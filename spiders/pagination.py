"""The next page of a listing."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from spiders.links import links_within, text_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from scrapy.http import TextResponse

# The whole text of a link to the next page, in lower case and without arrows around it.
_NEXT_TEXTS = frozenset(
    {"next", "next page", "next articles", "next posts", "older", "older posts", "older articles", "older entries"}
    | {"下一页", "下一頁", "下页", "下頁", "后一页", "后页", "次へ", "次のページ", "다음", "다음 페이지"}
    | {"weiter", "nächste", "nächste seite", "ältere beiträge", "suivant", "suivante", "page suivante"}
    | {"siguiente", "página siguiente", "siguientes", "próxima", "próximo", "próxima página", "seguinte"}
    | {"successivo", "successiva", "avanti", "volgende", "nästa", "następna", "dalej", "sonraki", "далее"}
    | {"следующая", "следующая страница", "вперёд", "вперед", "अगला", "التالي", "הבא"}
)
# An arrow alone means "next" only among page numbers: breadcrumbs and menus have arrows too.
_ARROWS = frozenset("» \u203a > >> → ▶".split())
_EDGES = " \xa0«\u2039←»\u203a>→▶…"
_PAGER = re.compile(r"(?:^|[\s_-])(?:pag\w*|nav-links|page-?numbers|wp-pagenavi)(?:$|[\s_-])", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"[?&](?:page|p|pg|paged|pageno|page_no|pagenum|pn)=(\d{1,5})(?!\d)|/(?:page|p|seite)[/-]?(\d{1,5})(?=/|$)"
    r"|[-_](\d{1,4})\.s?html?$",
    re.IGNORECASE,
)


def next_page(response: TextResponse) -> str | None:
    """Return the URL of the listing's next page, None on the last one.

    Asked in this order: rel=next, the text of a link ("Next »", "下一页"), an arrow among page numbers, the number
    after this page's in a numbered pager.
    """
    links = list(links_within(response, "link", "a"))
    anchors = [(element, url) for element, url in links if element.tag == "a"]
    for chosen in (
        (url for element, url in links if "next" in (element.get("rel") or "").lower().split()),
        (url for element, url in anchors if text_of(element).strip(_EDGES).lower() in _NEXT_TEXTS),
        (url for element, url in anchors if text_of(element).strip() in _ARROWS and _is_pager(element)),
        _numbered(response.url, anchors),
    ):
        if url := next(iter(chosen), None):
            return url
    return None


def page_number(url: str) -> int | None:
    """Return the page number in a listing's URL, None where there is none."""
    match = _PAGE_NUMBER.search(url)
    return int(next(filter(None, match.groups()), 0)) if match else None


def _numbered(here: str, anchors: list[tuple[HtmlElement, str]]) -> list[str]:
    """Return the links whose text is the number after this page's and whose URL says so too."""
    following = (page_number(here) or 1) + 1
    return [
        url
        for element, url in anchors
        if text_of(element).strip() == str(following) and (page_number(url) is not None or _is_pager(element))
    ]


def _is_pager(element: HtmlElement) -> bool:
    around = [element, *islice(element.iterancestors(), 4)]
    return any(_PAGER.search(f"{each.get('class') or ''} {each.get('id') or ''}"[:200]) for each in around)
