"""Formats: what is a page, what is read as one, and what is refused for which reason."""

import quopri

import pytest

from cleaning import PageError, PageFault, clean, parse
from cleaning.input.formats import read_mhtml, read_plain_text

PROSE = "The ferry left the harbour at noon, and forty people waved from the quay until it was out of sight."
RSS = '<rss version="2.0"><channel><title>News</title></channel></rss>'
DECLARED = '<?xml version="1.0" encoding="utf-8"?>\n'
REFUSED = {
    "RSS": (DECLARED + RSS, PageFault.FEED),
    "RSS without a declaration": (RSS, PageFault.FEED),
    "Atom after a comment": (
        DECLARED + "<!-- made by hand --><feed xmlns='http://www.w3.org/2005/Atom'/>",
        PageFault.FEED,
    ),
    "RSS 1.0": (DECLARED + "<rdf:RDF xmlns:rdf='x'></rdf:RDF>", PageFault.FEED),
    "RSS in UTF-16": (("\ufeff" + DECLARED + RSS).encode("utf-16-le"), PageFault.FEED),
    "sitemap": (DECLARED + "<urlset><url><loc>https://e.org/</loc></url></urlset>", PageFault.XML),
    "TEI": (DECLARED + f"<TEI><text><p>{PROSE}</p></text></TEI>", PageFault.XML),
    "SVG": ("<svg xmlns='http://www.w3.org/2000/svg'><text>Harbour</text></svg>\n", PageFault.XML),
    "JSON object": (f'{{"body": "<p>{PROSE}</p>"}}', PageFault.JSON),
    "JSON list": ('[{"title": "Harbour"}]', PageFault.JSON),
    "JSON, cut off": (f'{{"title": "Harbour", "body": "{PROSE}', PageFault.JSON),
    "JSON lines": ('{"a": 1}\n{"a": 2}\n', PageFault.JSON),
    "JSON with a guard": (')]}\',\n{"a": 1}', PageFault.JSON),
    "PDF after a line": (b"\n%PDF-1.7\n", PageFault.BINARY),
    "WebP": (b"RIFF\x10\x20\x30\x40WEBPVP8 ", PageFault.BINARY),
    "MP4": (b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00", PageFault.BINARY),
    "scattered bytes": (bytes((number * 89 + 41) % 251 + 1 for number in range(700)), PageFault.BINARY),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_page_is_refused_for_its_reason(name):
    body, cause = REFUSED[name]
    for source in (body, body.encode()) if isinstance(body, str) else (body,):
        with pytest.raises(PageError) as caught:
            clean(source)
        assert caught.value.cause is cause


READ = {
    "XHTML": DECLARED + "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN'><html><body><p>{}</p></body></html>",
    "XHTML without a type": DECLARED + "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>{}</p></body></html>",
    "a fragment with a declaration": DECLARED + "<div><p>{}</p></div>",
    "an image first": "<svg xmlns='http://www.w3.org/2000/svg'><path d='M0'/></svg><p>{}</p>",
    "a custom element": "<feed-card><p>{}</p></feed-card>",
    "a page that quotes a feed": "<html><body><p>{}</p><pre>&lt;rss version='2.0'&gt;</pre></body></html>",
    "debugging output before the page": '{{"debug": 1}}<html><body><p>{}</p></body></html>',
    "a note": "[1] {}",
    "a template": "{{{{ title }}}} <p>{}</p>",
}


@pytest.mark.parametrize("name", READ)
def test_a_page_that_resembles_data_is_read(name):
    assert PROSE in " ".join(decision.block.text for decision in clean(READ[name].format(PROSE).encode()).decisions)


def test_plain_text_is_read_by_its_paragraphs():
    first = PROSE.replace(" and ", "\nand ")
    second = PROSE.replace("noon", "six")
    page = clean(f"{first}\r\n\r\n{second}\n  \nWrite to <anna@e.org> if a < b.")
    texts = [decision.block.text for decision in page.decisions]
    assert texts == [PROSE, second, "Write to <anna@e.org> if a < b."]


def test_items_and_long_lines_of_plain_text_are_paragraphs():
    long = f"{PROSE} {PROSE}"
    texts = [decision.block.text for decision in clean(f"{long}\n{long[::-1]}\n\nBring:\n- rope\n- bread").decisions]
    assert texts == [long, long[::-1], "Bring:", "- rope", "- bread"]


@pytest.mark.parametrize("source", [b"one <b>bold</b> word\n\nmore", b"a\n\n<br>", b"a\n\n<!-- b -->", b"a\n\nb</p>"])
def test_text_with_markup_is_html(source):
    assert read_plain_text(source) is None


def archive(html, *, charset="", transfer="quoted-printable", kind="text/html"):
    coded = quopri.encodestring(html) if transfer == "quoted-printable" else html
    head = f"Content-Type: {kind}{charset}\r\nContent-Transfer-Encoding: {transfer}\r\n"
    return (
        b"From: <Saved by Blink>\r\nSnapshot-Content-Location: https://e.org/feed\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/related;\r\n\ttype="text/html";\r\n\tboundary="--B"\r\n\r\n'
        b"----B\r\nContent-Type: text/css\r\nContent-Location: https://e.org/a.css\r\n\r\np { color: red }\r\n"
        b"----B\r\n" + head.encode() + b"Content-Location: https://e.org/ferry\r\n\r\n" + coded + b"\r\n----B--\r\n"
    )


@pytest.mark.parametrize("transfer", ["quoted-printable", "8bit"])
@pytest.mark.parametrize("as_text", [False, True])
def test_the_page_of_an_mhtml_archive_is_read_in_its_encoding(transfer, as_text):
    html = f"<p>Паром ушёл в полдень. {PROSE}</p>".encode("koi8-r")
    body = archive(html, charset="; charset=koi8-r", transfer=transfer)
    page = clean(body.decode("koi8-r") if as_text else body)
    assert page.text == f"Паром ушёл в полдень. {PROSE}"
    assert page.url == "https://e.org/ferry"


def test_an_mhtml_archive_keeps_the_address_that_is_given():
    assert parse(archive(b"<p>Harbour</p>"), "https://e.org/mine").url == "https://e.org/mine"


def test_plain_text_in_an_mhtml_archive_is_read():
    page = clean(archive(f"{PROSE}\n\nSecond.".encode(), kind="text/plain"))
    assert [decision.block.text for decision in page.decisions] == [PROSE, "Second."]


def test_an_mhtml_archive_without_a_page_is_refused():
    with pytest.raises(PageError, match="no part that is HTML") as caught:
        parse(archive(b"x", kind="image/png"))
    assert caught.value.cause is PageFault.BINARY


def test_an_mhtml_archive_with_many_levels_is_refused():
    levels = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (n, n) for n in range(50))
    with pytest.raises(PageError, match="nests 50 archives"):
        parse(b"MIME-Version: 1.0\r\n" + levels)


@pytest.mark.parametrize(
    "source", [b"Note: the ferry is late.\n\nMore.", b"<p>MIME-Version: 1.0\nContent-Type: text/html\n\n"]
)
def test_a_text_that_begins_like_a_head_is_no_archive(source):
    assert read_mhtml(source) is None
