"""The structure of a cleaned page: when it is read, and that it holds the kept text and nothing else."""

import pickle

import pytest

from cleaning import METHODS, StructureError, clean, parse
from cleaning.structure.nodes import NodeType

WORDS = "These are some words of a text that is long enough to be kept, because it has a sentence. " * 3
PAGE = f"""<html><body><nav><a href="/a">Home</a> <a href="/b">News</a></nav><main><h1>A headline of the page</h1>
<p>{WORDS}</p><p>{WORDS} <b>Bold</b></p><ul><li>{WORDS}</li><li>{WORDS}</li></ul></main>
<footer>Copyright</footer></body></html>"""


def test_markdown_and_html_have_the_kept_text_with_its_structure():
    page = clean(PAGE, "https://a.example/")
    assert page.markdown.startswith("# A headline of the page\n\nThese are")
    assert "Home" not in page.markdown
    assert page.html.startswith("<h1>A headline of the page</h1>\n<p>These are")
    assert [chunk.headings for chunk in page.chunks(1_000)] == [("A headline of the page",)]
    assert [place.position for place in page.places()] == [block.position for block in page.kept]


def test_a_page_without_text_has_no_structure():
    page = clean("<html></html>")
    assert (page.markdown, page.html, page.chunks(10), page.places()) == ("", "", [], ())


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].needs is None])
def test_every_method_has_structure_with_the_headline_and_its_kept_words(method):
    page = clean(PAGE, "https://a.example/", method=method)
    words = " ".join(page.to_markdown(links=False).replace("#", " ").replace("- ", " ").replace("*", "").split())
    text = " ".join(page.text.split())
    assert words in (text, f"A headline of the page {text}")


def test_the_tree_is_not_edited_and_the_structure_is_read_once():
    page = parse(PAGE, "https://a.example/")
    before = len(list(page.root.iter()))
    cleaned = clean(page)
    assert cleaned.structure is cleaned.structure
    assert len(list(page.root.iter())) == before


def test_a_pickled_page_has_its_structure():
    page = clean(PAGE)
    copy = pickle.loads(pickle.dumps(page))
    assert copy == page
    assert copy.markdown == page.markdown
    assert pickle.loads(pickle.dumps(copy)).markdown == page.markdown


def test_metadata_is_read_once_and_when_it_is_asked_for():
    page = parse("<html lang=en><p>Some words</p></html>")
    cleaned = clean(page)
    page.root.set("lang", "fr")
    assert cleaned.language == "fr"
    page.root.set("lang", "it")
    assert (cleaned.language, cleaned.described().language) == ("fr", "fr")


def test_pages_with_other_metadata_are_not_equal():
    page = clean(PAGE)
    assert page == clean(PAGE)
    assert page != clean(PAGE.replace("<html>", '<html><head><meta name="author" content="Ann Lee"></head>'))
    assert page != "page"
    assert hash(page) == hash(clean(PAGE))


def test_a_page_that_was_detached_without_its_structure_has_none():
    page = pickle.loads(pickle.dumps(clean(PAGE).detached(structure=False)))
    with pytest.raises(StructureError, match="another process"):
        _ = page.markdown


TABLES = """<article><h1>Fares</h1><p>The <a href="/f">ferries</a> of the lake sail in summer and in winter too, as
<a href="https://b.example/">the harbour</a> says to all its guests.</p><img src="/i.png" alt="A ferry">
<table><caption>Fares in euros</caption><tr><th colspan=2>Passenger</th><th>Fare</th></tr>
<tr><td>Adults<br>and guests</td><td><ul><li>one</li><li>two</li></ul></td><td>12.50</td></tr>
<tr><td>Children of the town</td><td></td><td>6.25</td></tr></table>
<p>The ferries leave at every third hour of the day, in summer and in winter, and wait for nobody.</p></article>"""


def test_links_images_and_tables_of_the_text():
    page = clean(TABLES, "https://a.example/", method="eniw", eniw_noise=True)
    assert [(link.url, link.text) for link in page.links()] == [
        ("https://a.example/f", "ferries"),
        ("https://b.example/", "the harbour"),
    ]
    assert [(image.url, image.text) for image in page.images()] == [("https://a.example/i.png", "A ferry")]
    (table,) = page.tables()
    assert (table.caption, table.header_rows) == ("Fares in euros", 1)
    assert table.rows == (
        ("Passenger", "Passenger", "Fare"),
        ("Adults and guests", "one two", "12.50"),
        ("Children of the town", "", "6.25"),
    )
    frame = table.to_pandas()
    assert list(frame.columns) == ["Passenger", "Passenger", "Fare"]
    assert frame.iloc[1].tolist() == ["Children of the town", "", "6.25"]


def test_a_page_without_text_has_no_links_images_and_tables():
    page = clean("")
    assert (page.links(), page.images(), page.tables()) == ((), (), ())


def test_a_deep_page_has_all_its_text():
    depth = 300
    page = clean(f"<body>{'<div>' * depth}<p>{WORDS}</p>{'</div>' * depth}<p>{WORDS}</p></body>")
    assert page.kept
    assert page.markdown.split() == page.text.split()


def test_text_of_noscript_on_a_shell_page_is_read():
    page = clean(f"<body><noscript><h1>Forum</h1><p>{WORDS}</p><p>{WORDS}</p></noscript></body>")
    kinds = [node.type for node in page.structure.content]
    assert kinds == [NodeType.HEADING, NodeType.PARAGRAPH, NodeType.PARAGRAPH]
