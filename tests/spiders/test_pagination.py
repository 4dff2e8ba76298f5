"""The next page of a listing."""

import pytest
from scrapy.http import HtmlResponse

from spiders.pagination import next_page


def listing(html, url="https://www.portal.example/tech/"):
    return HtmlResponse(url, body=html, encoding="utf-8")


SHELF = "".join(f'<li><a href="/item/{n}1234">No. {n}</a></li>' for n in range(20))


@pytest.mark.parametrize(
    "html",
    [
        '<link rel="next" href="/tech/2">',
        '<a rel="nofollow next" href="/tech/2">more</a>',
        '<a href="/tech/2">Next »</a>',
        '<a href="/tech/2">Next Page ›</a>',
        '<a href="/tech/2">« Older posts</a>',
        '<a href="/tech/2">下一页</a>',
        '<a href="/tech/2">Weiter</a>',
        '<a href="/tech/2">Suivant »</a>',
        '<a href="/tech/2">siguiente &gt;</a>',
        '<a href="/tech/2" title="Next page"><img src="arrow.png"></a>',
        '<div class="pagination"><a href="/tech/2">»</a></div>',
        '<div class="pager"><b>1</b> <a href="/tech/2">2</a> <a href="/tech/3">3</a></div>',
    ],
)
def test_the_next_page_is_found(html):
    assert next_page(listing(html)) == "https://www.portal.example/tech/2"


def test_the_next_page_number_is_the_next_page():
    html = "".join(f'<a href="?page={n}">{n}</a> ' for n in (1, 2, 4, 5))
    response = listing(html, "https://www.portal.example/tech/?page=3")
    assert next_page(response) == "https://www.portal.example/tech/?page=4"


@pytest.mark.parametrize(
    "html",
    [
        "",
        '<div class="breadcrumb"><a href="/a">A</a> <a href="/b">»</a></div>',
        '<a href="/tech/">Next</a>',
        '<a href="https://elsewhere.example/2">Next</a>',
        '<a href="#2">Next</a>',
        '<a href="javascript:next()">Next</a>',
        '<a href="/a">Next steps for the water board</a>',
        '<a href="/winners">2</a>',
    ],
)
def test_other_links_are_not_the_next_page(html):
    assert next_page(listing(html)) is None


@pytest.mark.parametrize(
    "html",
    [
        '<button class="btn load-more" data-url="/tech/2">···</button>',
        '<a href="#" data-next-url="/tech/2">Show more</a>',
        '<div class="list-load_more" data-href="/tech/2"></div>',
        "<button data-url='/tech/2'>Показать ещё</button>",
        '<script type="application/ld+json">{"@graph": [{"@type": "CollectionPage", "next": "/tech/2"}]}</script>',
        '<script type="application/ld+json">{"hydra:next": {"@id": "/tech/2"}}</script>',
        '<script type="application/ld+json">{broken</script><a href="/tech/2">หน้าถัดไป</a>',
    ],
)
def test_an_element_that_loads_more_leads_to_the_next_page(html):
    assert next_page(listing(html)) == "https://www.portal.example/tech/2"


def test_a_header_names_the_next_page():
    headers = {"Link": '</a.css>; rel=preload, </tech/1>; rel="prev", </tech/3>; rel="next"'}
    response = HtmlResponse("https://www.portal.example/tech/2", body="<p>x", encoding="utf-8", headers=headers)
    assert next_page(response) == "https://www.portal.example/tech/3"


@pytest.mark.parametrize(
    ("html", "following"),
    [
        ('<button data-page="2">加载更多</button>', "?a=1&page=2"),
        ('<button class="load-more" data-next-page="5">x</button>', "?a=1&page=5"),
        ('<a href="?a=1&start=20">more</a>', "?a=1&start=20"),
        ('<a href="/tech/page/2/">更多</a>', "page/2/"),
    ],
)
def test_a_button_with_a_page_number_or_an_offset(html, following):
    response = listing(html, "https://www.portal.example/tech/?a=1#top")
    assert next_page(response) == f"https://www.portal.example/tech/{following}"


@pytest.mark.parametrize(
    "html",
    [
        '<a href="/sports/">More</a>',
        '<a href="/sports/?start=20">More</a>',
        '<span data-url="/tech/2024/05/31/a-story">More</span>',
        '<a href="?start=0&show=100">More</a>',
        '<button data-page="many">Load more</button>',
        '<button class="load-more" data-url="https://elsewhere.example/2"></button>',
        '<script type="application/ld+json">{"next": 2, "nextPage": {"name": "x"}}</script>',
    ],
)
def test_more_links_that_lead_elsewhere_are_not_the_next_page(html):
    assert next_page(listing(html)) is None
