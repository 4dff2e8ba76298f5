"""`read_listing`: the entries of feeds and sitemaps, and the problems of other documents."""

import gzip
import resource
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import repeat

import pytest
from cpu_time import bounded_cpu_time, cpu_growth
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import Response

from crawler.discovery.feeds import _SITEMAP_MAX_BYTES, FeedKind, FeedListing, FeedProblem, read_listing

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
URLSET = f'{HEAD}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "lol">'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)


def read_bytes(body, content_type="application/xml", url="https://e.org/news/feed", most=100, seconds=30.0):
    data = body if isinstance(body, bytes) else body.encode()
    return read_listing(Response(url, headers={"Content-Type": content_type}, body=data), NOW, most, seconds)


def urls(listing):
    assert isinstance(listing, FeedListing), listing
    return [entry.url for entry in listing.entries]


def rss(*items, head=HEAD):
    return f'{head}<rss version="2.0"><channel><title>News</title>{"".join(items)}</channel></rss>'


def item(link, day=None):
    return f"<item><title>A title</title><link>{link}</link>{f'<pubDate>{day}</pubDate>' if day else ''}</item>"


def loc(url, lastmod=None):
    return f"<url><loc>{url}</loc>{f'<lastmod>{lastmod}</lastmod>' if lastmod else ''}</url>"


def test_an_rss_feed_lists_absolute_addresses_with_dates_in_their_time_zone():
    listing = read_bytes(rss(item("/news/a", "Mon, 06 Sep 2021 00:01:00 +0530"), item("https://e.org/b")))
    assert (listing.kind, urls(listing)) == (FeedKind.FEED, ["https://e.org/news/a", "https://e.org/b"])
    assert listing.entries[0].published == datetime(2021, 9, 5, 18, 31, tzinfo=UTC)
    assert listing.entries[1].published is None


@pytest.mark.parametrize("content_type", ["text/html", "text/plain; charset=utf-8", "image/png", ""])
def test_a_feed_is_recognised_by_its_bytes(content_type):
    assert urls(read_bytes(rss(item("/é")), content_type)) == ["https://e.org/é"]


def test_a_feed_that_is_too_long_is_read_up_to_the_limit():
    long = [f"<item><link>/{n}</link><description>{'word ' * 200_000}</description></item>" for n in range(8)]
    listing = read_bytes(rss(*long))
    assert listing.cut
    assert urls(listing)[:4] == [f"https://e.org/{n}" for n in range(4)]


def test_an_atom_feed_lists_its_alternate_links():
    listing = read_bytes(
        f'{HEAD}<feed xmlns="http://www.w3.org/2005/Atom"><entry><link rel="self" href="/a.atom"/>'
        '<link rel="alternate" type="text/html" href="/a"/><published>2024-05-30T01:00:00Z</published>'
        "<updated>2024-05-31T01:00:00+02:00</updated></entry></feed>"
    )
    (entry,) = listing.entries
    assert entry.url == "https://e.org/a"
    assert (entry.published.date(), entry.changed.date()) == (date(2024, 5, 30), date(2024, 5, 30))


def test_the_newest_entries_come_first_and_undated_ones_in_document_order():
    listing = read_bytes(
        URLSET
        + loc("https://e.org/1")
        + loc("https://e.org/2", "2024-01-01")
        + loc("https://e.org/3", "2024-02-01")
        + loc("https://e.org/4")
        + "</urlset>"
    )
    assert [url[-1] for url in urls(listing)] == ["3", "2", "1", "4"]


def test_entries_beyond_the_limit_are_counted():
    listing = read_bytes(URLSET + "".join(loc(f"https://e.org/{n}", f"2024-01-{n:02}") for n in range(1, 31)), most=3)
    assert ([url[-2:] for url in urls(listing)], listing.left_out) == (["30", "29", "28"], 27)


def test_a_news_sitemap_states_when_articles_were_published():
    listing = read_bytes(
        f'{HEAD}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:n="http://www.google.com/schemas/sitemap-news/0.9" '
        'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'
        "<url><loc>https://e.org/a</loc><image:image><image:loc>https://e.org/a.jpg</image:loc></image:image>"
        "<n:news><n:publication_date>2024-05-31T23:30:00-05:00</n:publication_date></n:news></url></urlset>"
    )
    (entry,) = listing.entries
    assert (entry.url, entry.changed) == ("https://e.org/a", None)
    assert entry.published == datetime(2024, 5, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert entry.newest == date(2024, 6, 1)


def test_an_index_is_distinguished_from_a_sitemap():
    listing = read_bytes(
        f"{HEAD}<sitemapindex><sitemap><loc>https://e.org/1.xml.gz</loc><lastmod>2024-05-01</lastmod></sitemap>"
        "<sitemap><loc>https://e.org/2.xml.gz</loc></sitemap></sitemapindex>"
    )
    assert (listing.kind, urls(listing)) == (FeedKind.INDEX, ["https://e.org/1.xml.gz", "https://e.org/2.xml.gz"])


@pytest.mark.parametrize("content_type", ["text/plain", "application/gzip", "text/html"])
def test_gzipped_and_text_sitemaps_are_read_whatever_type_is_declared(content_type):
    lines = "https://e.org/1\nhttps://e.org/2\r\n\nno address\n"
    assert len(urls(read_bytes(lines, content_type))) == 2
    assert len(urls(read_bytes(gzip.compress(lines.encode()), content_type))) == 2
    packed = gzip.compress((URLSET + loc("https://e.org/1")).encode()) + gzip.compress(
        (loc("https://e.org/2") + "</urlset>").encode()
    )
    assert len(urls(read_bytes(packed, content_type))) == 2


def test_a_text_sitemap_is_read_with_any_line_ends():
    urls_ = [f"https://e.org/{n}/{'x' * 1_000}" for n in range(300)]
    for end in ("\n", "\r\n", "\r"):
        assert urls(read_bytes("\ufeff" + end.join(urls_), most=1_000)) == urls_
    endless = "https://e.org/a\nhttps://e.org/" + "x" * 3_000_000 + "\nhttps://e.org/b"
    assert urls(read_bytes(endless)) == ["https://e.org/a", "https://e.org/b"]


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("", FeedProblem.EMPTY),
        (" \n ", FeedProblem.EMPTY),
        ("<!DOCTYPE html><title>Not here</title><p>Sorry", FeedProblem.HTML),
        ("<!-- x --><html><body>Sorry", FeedProblem.HTML),
        ('<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "x.dtd"><html/>', FeedProblem.HTML),
        ('{"items": []}', FeedProblem.UNKNOWN),
        ("<svg/>", FeedProblem.UNKNOWN),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), FeedProblem.UNKNOWN),
        (gzip.compress(b"<urlset/>", mtime=0)[:8], FeedProblem.DAMAGED),
        (b"\x1f\x8b" + bytes(50), FeedProblem.DAMAGED),
        (b'<?xml version="1.0" encoding="gb\xd6312"?><rss/>', FeedProblem.DAMAGED),
        (b'<?xml version="1.0" encoding="u\x00tf-8"?><rss/>', FeedProblem.DAMAGED),
        ("<rdf:RDF xmlns:rdf='a\N{NO-BREAK SPACE}b'><rdf:item/></rdf:RDF>", FeedProblem.DAMAGED),
    ],
)
def test_other_documents_have_a_problem(body, fault):
    assert read_bytes(body) is fault


def test_a_damaged_archive_gives_the_entries_before_the_damage():
    packed = gzip.compress((URLSET + "".join(loc(f"https://e.org/{n}") for n in range(50_000))).encode())
    listing = read_bytes(packed[: len(packed) // 2], most=100_000)
    assert listing.cut
    assert 1_000 < len(listing.entries) < 50_000


def test_impossible_dates_are_dropped_and_counted():
    said = ["1970-01-01", "0001-01-01", "2038-01-19", "2026-11-24", "yesterday", "2026-13-45", "2026-11-22"]
    listing = read_bytes(URLSET + "".join(loc(f"https://e.org/{n}", day) for n, day in enumerate(said)))
    assert [entry.changed for entry in listing.entries if entry.changed] == [date(2026, 11, 22)]
    assert (listing.doubtful, len(listing.entries)) == (4, 7)


@pytest.mark.parametrize("day", ["Fri, 99 Foo 2024", "9999-99-99", "Sun, 31 Dec 0000 00:00:00 GMT", "-1", "∞"])
def test_a_feed_with_any_date_lists_its_entry(day):
    assert [entry.newest for entry in read_bytes(rss(item("/a", day))).entries] == [None]


@pytest.mark.parametrize(
    ("encoding", "word"),
    [("utf-16", "нов"), ("windows-1251", "нов"), ("gb2312", "新闻"), ("shift_jis", "日本"), ("iso-8859-15", "été")],
)
def test_addresses_are_read_in_any_encoding(encoding, word):
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    body = rss(item(f"https://e.org/{word}"), head=head).encode(encoding)
    assert urls(read_bytes(body)) == [f"https://e.org/{word}"]
    body = f"{head}<urlset>{loc(f'https://e.org/{word}')}</urlset>".encode(encoding)
    assert urls(read_bytes(body)) == [f"https://e.org/{word}"]


@pytest.mark.parametrize("charset", ["x-no-such-thing", "utf-7", "base64", "rot13", "\N{SNOWMAN}"])
def test_an_unknown_encoding_loses_no_ascii(charset):
    head = f'<?xml version="1.0" encoding="{charset}"?>'
    listing = read_bytes(rss(item("https://e.org/a"), head=head), f"application/rss+xml; charset={charset}")
    assert urls(listing) == ["https://e.org/a"]


@pytest.mark.parametrize(
    "reference",
    ["&#55356;", "&#xD83C;&#57343;", "&#x110000;", f"&#{10**30};", "&#xFFFFFFFFFFFFFFFF;", "&#0;", "&#xfffe;", "&#X3 "],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("before", [0, 1, 65_530])
def test_a_reference_to_no_character_costs_nothing_but_itself(reference, encoding, before):
    """In a text, an attribute or the address, also where one chunk of the document ends and the next begins."""
    title, attribute = f"{'x' * before}a {reference} b", f"https://e.org/2?{reference}"
    feed = f'<item><title>{title}</title><enclosure url="{attribute}"/><link>{attribute}</link></item>'
    entry = f'<url><title a="{reference}">{title}</title><loc>{attribute}</loc></url>'
    bodies = (
        rss(item("https://e.org/1"), feed, item("https://e.org/3"), head=""),
        f"<urlset>{loc('https://e.org/1')}{entry}{loc('https://e.org/3')}</urlset>",
    )
    for body in bodies:
        assert [url[:15] for url in urls(read_bytes(body.encode(encoding)))] == [
            f"https://e.org/{number}" for number in (1, 2, 3)
        ]


@pytest.mark.slow
def test_an_entity_bomb_does_not_expand():
    with bounded_cpu_time():
        assert urls(read_bytes(f"{LAUGHS}<urlset>{loc('https://e.org/?&l9;')}{loc('https://e.org/b')}</urlset>")) in (
            [],
            ["https://e.org/b"],
            ["https://e.org/?", "https://e.org/b"],
        )
        listing = read_bytes(LAUGHS + rss(item("https://e.org/a"), "<item><title>&l9;</title></item>", head=""))
        assert urls(listing) == ["https://e.org/a"]


def test_external_entities_are_not_loaded(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("https://e.org/secret")
    outside = f'<!DOCTYPE u [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    for body in (f"{outside}<urlset>{loc('&x;')}</urlset>", outside + rss(item("&x;"), head="")):
        assert "secret" not in str(read_bytes(body))


def test_a_gzip_bomb_is_read_up_to_the_limit():
    """100 MB of blanks in a sitemap's archive of 100 kB."""
    blank = gzip.compress(b" " * 10_000_000, 9)
    bomb = gzip.compress((URLSET + loc("https://e.org/a")).encode()) + blank * 10
    tracemalloc.start()
    listing = read_bytes(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert listing.cut
    assert urls(listing) == ["https://e.org/a"]
    assert peak < 10_000_000 < _SITEMAP_MAX_BYTES


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_entries():
    body = gzip.compress((URLSET + loc("https://e.org/a") * 100_000).encode(), 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    listing = read_bytes(body, most=1_000)
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (len(listing.entries), listing.left_out, listing.cut) == (1_000, 99_000, False)
    assert grown_kb < 20_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "<rss>" + "<item>" * 20_000,
        "<rss><channel><item><title>" + "<" * 100_000,
        "<rss><channel><item><link>" + "&" * 100_000,
        "<feed>" + "<![CDATA[" * 100_000,
        "<urlset>" + "<url>" * 300_000,
        "<urlset>" + "<a/>" * 300_000,
        "<urlset><url><loc>" + "x" * 3_000_000,
        "<?a?>" * 100_000,
        "<!-- -->" * 100_000,
        "<!doctype a [ ]>" * 100_000,
        "<!doctype a [" * 100_000,
        "<rss><channel>" + "<item/>" * 600_000,
        "<rss><channel>" + "<item><a>" * 300_000,
        f"<rss {' '.join(map('a{}={}'.format, range(200_000), repeat(repr('1'))))}><channel/></rss>",
        f"<rss {' '.join(map('a{}={}'.format, range(200_000), repeat(repr('>'))))}><channel>",
        "<rss><channel xml:base='a/'>" + "<item xml:base='b/'>" * 100_000 + "</item>" * 100_000 + "</channel></rss>",
    ],
)
def test_a_hostile_body_is_done_within_seconds(body):
    with bounded_cpu_time():
        read_bytes(body)


def test_what_is_too_much_for_any_feed_is_told():
    attributes = " ".join(f'a{number}=">"' for number in range(2_000))
    nested = "<b>" * 300 + "</b>" * 300
    assert read_bytes(rss(f"<item {attributes}/>")) is FeedProblem.TOO_LARGE
    assert read_bytes(rss(f"<item>{nested}</item>")) is FeedProblem.TOO_LARGE
    assert urls(read_bytes(rss(item("https://e.org/a"), f"<item>{nested[: 3 * 100]}{'</b>' * 100}</item>"))) == [
        "https://e.org/a"
    ]


@pytest.mark.slow
def test_a_feed_of_very_many_elements_is_cut():
    listing = read_bytes(rss(item("https://e.org/a"), "<item/>" * 100_000), seconds=600)
    assert listing.cut
    assert urls(listing) == ["https://e.org/a"]


# The interruption may arrive in a callback of the interpreter, which cannot pass it on; the clock then rings again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "body", [lambda: rss("<item><title>x</title></item>" * 20_000), lambda: URLSET + loc("https://e.org/a") * 500_000]
)
def test_a_document_that_takes_too_long_is_given_up(body):
    document = body()

    def read(seconds):
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(read_bytes, document, seconds=seconds).result()

    assert read(0.1) is FeedProblem.TIMEOUT
    assert cpu_growth(read, 0.1, 600) > 2


STARTS = [
    b"",
    b"<rss><channel><item><link>",
    b"<feed><entry><updated>",
    b"<urlset><url><loc>",
    b"\x1f\x8b\x08",
    b"\xff\xfe<\x00",
]


@given(
    st.sampled_from(STARTS),
    st.binary(max_size=300),
    st.sampled_from(["", "text/xml; charset=utf-16", "a/b; charset=x"]),
)
def test_any_bytes_give_a_listing_or_a_problem(start, rest, content_type):
    listing = read_bytes(start + rest, content_type)
    assert listing in FeedProblem if not isinstance(listing, FeedListing) else len(listing.entries) <= 100
