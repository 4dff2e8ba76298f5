"""The next page of a listing."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from spiders.links import link_text, links_within, page_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lxml.html import HtmlElement
    from scrapy.http import TextResponse

# The whole text of a link to the next page, in lower case, without arrows around it.
_NEXT_TEXTS = frozenset(
    {"next", "next page", "next articles", "next posts", "older", "older posts", "older articles", "older entries"}
    | {"older stories", "older news", "previous posts", "previous entries", "go to next page", "next results"}
    | {"下一页", "下一頁", "下页", "下頁", "后一页", "后页", "次へ", "次のページ", "다음", "다음 페이지", "이전 글"}
    | {"weiter", "nächste", "nächste seite", "ältere beiträge", "ältere artikel", "suivant", "suivante"}
    | {"page suivante", "articles plus anciens", "articles précédents", "siguiente", "página siguiente", "siguientes"}
    | {"entradas anteriores", "artículos anteriores", "próxima", "próximo", "próxima página", "seguinte"}
    | {"publicações mais antigas", "successivo", "successiva", "avanti", "articoli meno recenti", "volgende"}
    | {"oudere berichten", "nästa", "nästa sida", "äldre inlägg", "neste", "næste", "seuraava", "następna", "dalej"}
    | {"starsze wpisy", "další", "következő", "sonraki", "sonraki sayfa", "далее", "следующая", "следующая страница"}
    | {"вперёд", "вперед", "старые записи", "наступна", "अगला", "التالي", "التالية", "הבא", "หน้าถัดไป", "trang sau"}
    | {"berikutnya", "selanjutnya"}
)
# The whole text of a link or button that loads more of the listing.
_MORE_TEXTS = frozenset(
    {
        "load more",
        "show more",
        "view more",
        "see more",
        "more",
        "more articles",
        "more stories",
        "more news",
        "more posts",
    }
    | {"load more articles", "load more stories", "load more posts", "show more articles", "show more stories"}
    | {
        "加载更多",
        "載入更多",
        "查看更多",
        "显示更多",
        "点击加载更多",
        "更多",
        "もっと見る",
        "さらに読み込む",
        "더보기",
        "더 보기",
    }
    | {"mehr", "mehr laden", "mehr anzeigen", "weitere artikel", "weitere laden", "voir plus", "afficher plus"}
    | {"charger plus", "plus d'articles", "ver más", "cargar más", "mostrar más", "más noticias", "ver mais"}
    | {
        "carregar mais",
        "mostrar mais",
        "mais notícias",
        "mostra altri",
        "carica altri",
        "carica altro",
        "altre notizie",
    }
    | {"meer laden", "toon meer", "meer tonen", "visa fler", "ladda fler", "vis flere", "last inn flere", "näytä lisää"}
    | {"pokaż więcej", "załaduj więcej", "więcej", "načíst další", "daha fazla", "daha fazla göster", "показать ещё"}
    | {"показать еще", "загрузить ещё", "загрузить еще", "ещё", "еще", "показати ще", "और देखें", "और पढ़ें", "और लोड करें"}
    | {"المزيد", "عرض المزيد", "تحميل المزيد", "עוד", "טען עוד", "הצג עוד", "xem thêm", "muat lainnya", "lihat lainnya"}
)
# An arrow alone means "next" only among page numbers: breadcrumbs and menus have arrows too.
_ARROWS = frozenset("» \u203a > >> → ▶".split())
_EDGES = " \xa0«\u2039←»\u203a>→▶…+▼↓."
_PAGER = re.compile(r"(?:^|[\s_-])(?:pag\w*|nav-links|page-?numbers|wp-pagenavi)(?:$|[\s_-])", re.IGNORECASE)
_MORE = re.compile(r"(?:^|[\s_-])(?:load|show|view)[\s_-]?more(?:$|[\s_-])", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"[?&](?:page|p|pg|paged|pageno|page_no|pagenum|pn)=(\d{1,5})(?!\d)|/(?:page|p|seite|pagina)[/-]?(\d{1,5})(?=/|$)"
    r"|[-_](\d{1,4})\.s?html?$",
    re.IGNORECASE,
)
_OFFSET = re.compile(r"[?&](?:start|offset|from|skip|after|cursor|before)=(?!0?(?:&|$))", re.IGNORECASE)
_NEXT_ATTRIBUTES = "data-next-url data-next-page-url data-next data-nexturl data-next-href data-load-more-url".split()
# Used only on buttons and on elements whose class says "load more": elsewhere they lead anywhere.
_URL_ATTRIBUTES = "data-url data-href data-src".split()
_NUMBER_ATTRIBUTES = ("data-next-page", "data-page")
_HEADER_NEXT = re.compile(r"<([^<>]{1,2000})>[^<>]{0,500}?;\s*rel=[\"']?(?:[^\"'<>,]*\s)?next\b", re.IGNORECASE)
_JSON_NEXT = frozenset({"next", "nextPage", "hydra:next", "as:next"})
_JSON_MAX_CHARS = 200_000
_BUTTONS_MAX = 1_000
_NODES_MAX = 10_000
_PAGE_NUMBER_MAX = 100_000


def next_page(response: TextResponse) -> str | None:
    """Return the URL of the listing's next page, None on the last page.

    The first of these that leads anywhere wins: rel=next in a header, a `<link>` or a link; the text of a link
    ("Next »", "下一页"); an arrow among page numbers; the next number in a numbered pager; a link or button that loads
    more; JSON-LD.
    """
    links = list(links_within(response, "link", "a"))
    anchors = [(element, url) for element, url in links if element.tag == "a"]
    for chosen in (
        _from_header(response),
        (url for element, url in links if "next" in (element.get("rel") or "").lower().split()),
        (url for element, url in anchors if _said(element) in _NEXT_TEXTS),
        (url for element, url in anchors if link_text(element).strip() in _ARROWS and _is_pager(element)),
        _numbered(response.url, anchors),
        _from_more_button(response),
        _from_linked_data(response),
    ):
        if url := next(iter(chosen), None):
            return url
    return None


def _page_number(url: str) -> int | None:
    """Return the page number in a listing's URL, None if it has none."""
    match = _PAGE_NUMBER.search(url)
    return int(next(filter(None, match.groups()), 0)) if match else None


def _from_header(response: TextResponse) -> Iterator[str]:
    for header in response.headers.getlist("Link"):
        for match in islice(_HEADER_NEXT.finditer(header.decode("latin-1")[:_JSON_MAX_CHARS]), 1):
            yield from _within(response, [match[1]])


def _numbered(here: str, anchors: Sequence[tuple[HtmlElement, str]]) -> list[str]:
    """Return the links whose text is the next page number and that have a page number in the URL or are in a pager."""
    following = (_page_number(here) or 1) + 1
    return [
        url
        for element, url in anchors
        if link_text(element).strip() == str(following) and (_page_number(url) is not None or _is_pager(element))
    ]


def _from_more_button(response: TextResponse) -> Iterator[str]:
    """Yield the URLs of links and buttons that load more of the listing."""
    for element in islice(response.selector.root.iter("a", "button", "div", "span"), _BUTTONS_MAX):
        is_named = _MORE.search(f"{element.get('class') or ''} {element.get('id') or ''}"[:200]) is not None
        if not is_named and _said(element) not in _MORE_TEXTS:
            continue
        names = _NEXT_ATTRIBUTES + (_URL_ATTRIBUTES if is_named or element.tag == "button" else [])
        yield from _within(response, [element.get(name) or "" for name in names])
        # A bare "More" leads to other sections as often as to more of this one.
        yield from (url for url in _within(response, [element.get("href") or ""]) if _is_part(url, response.url))
        yield from _from_numbers(element, response.url)


def _from_numbers(element: HtmlElement, here: str) -> Iterator[str]:
    """Yield the listing's URL with the page number that a button names.

    A site that ignores the number repeats its first page, which ends the listing.
    """
    for name in _NUMBER_ATTRIBUTES:
        said = (element.get(name) or "").strip()
        if said.isascii() and said.isdecimal() and len(said) <= len(str(_PAGE_NUMBER_MAX)):
            present = _page_number(here) or 1
            following = int(said) if int(said) > present else present + 1
            address, _, query = here.partition("#")[0].partition("?")
            kept = [
                parameter for parameter in query.split("&") if parameter and not parameter.lower().startswith("page=")
            ]
            yield f"{address}?{'&'.join([*kept, f'page={following}'])}"
            return


def _from_linked_data(response: TextResponse) -> Iterator[str]:
    for text in response.css("script[type='application/ld+json']::text").getall()[:20]:
        try:
            document = json.loads(text) if len(text) <= _JSON_MAX_CHARS else None
        except (ValueError, RecursionError):
            continue  # malformed JSON-LD is common and says nothing about the next page
        yield from _within(response, _next_of(document))


def _next_of(document: Any) -> Iterator[str]:
    """Yield the URLs that a JSON-LD document names as its next page."""
    nodes, seen = [document], 0
    while nodes and seen < _NODES_MAX:
        node, seen = nodes.pop(), seen + 1
        if isinstance(node, list):
            nodes += node
        elif isinstance(node, dict):
            for key, value in node.items():
                said = value.get("@id") or value.get("url") if isinstance(value, dict) else value
                if key in _JSON_NEXT and isinstance(said, str):
                    yield said
            nodes += node.values()


def _within(response: TextResponse, hrefs: Iterable[str]) -> Iterator[str]:
    """Yield the absolute URLs of the links that lead to other pages of the site."""
    for href in hrefs:
        if (url := page_url(response, href)) is not None:
            yield url


def _is_part(url: str, listing: str) -> bool:
    """Return True if a URL has a page number, or the listing's path and an offset."""
    if _page_number(url) is not None:
        return True
    return _OFFSET.search(url) is not None and urlsplit(url).path == urlsplit(listing).path


def _said(element: HtmlElement) -> str:
    return link_text(element).strip(_EDGES).lower()


def _is_pager(element: HtmlElement) -> bool:
    around = [element, *islice(element.iterancestors(), 4)]
    return any(_PAGER.search(f"{node.get('class') or ''} {node.get('id') or ''}"[:200]) for node in around)
