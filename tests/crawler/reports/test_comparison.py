"""Comparison pages: inert, true to what the methods decided, and written as a whole."""

import re
from pathlib import Path

import pytest
from cpu_time import cpu_growth
from lxml import html as lxml_html

from cleaning.blocks import Page, Reason
from cleaning.clean import decide_leaves
from cleaning.leaves import walk
from cleaning.methods import METHODS
from cleaning.options import Options
from cleaning.parse import parse
from cleaning.terms import normalise
from crawler.errors import CompareError
from crawler.reports.compare import ComparedMethod, ComparedPage, ComparisonPlan, ComparisonTotals
from crawler.reports.comparison import ComparisonPages, _mark_page, compared_page
from crawler.reports.sources import ReportTarget


def mark(compared, max_leaves=20_000):
    """Return the texts of each row of the page that are texts of its blocks."""
    rows = ([text for text in row.texts if text.decisions] for row in _mark_page(compared, max_leaves).rows())
    return [texts for texts in rows if texts]


def letters(text):
    return "".join(normalise(text).split())


def test_every_text_has_the_mark_of_every_method_and_none_is_lost(compare, golden, raw_methods):
    compared = compare(golden.read_bytes())
    marked = mark(compared)
    assert [letters("".join(text.text for text in texts)) for texts in marked] == [
        letters(leaf.block.text) for leaf in compared.leaves
    ]
    for place, name in enumerate(raw_methods):
        assert all(text.reasons[place] is not None for texts in marked for text in texts), name


def test_what_is_marked_kept_is_what_the_method_keeps(compare, golden):
    compared = compare(golden.read_bytes())
    marked = mark(compared)
    for place, result in enumerate(compared.results.values()):
        visible = [text.text for texts in marked for text in texts if text.reasons[place] is Reason.KEPT]
        # Some methods make a block of the title, which is not in the body.
        kept = [block.text for block in result.kept if "/head[" not in block.path]
        assert sorted(letters("".join(visible))) == sorted(letters("".join(kept)))


def test_a_leaf_is_cut_where_a_method_changes_its_mind(compare):
    (marked,) = mark(compare("<p>Words outside <a href='/x'>words inside</a> outside again.</p>", ["default"]))
    assert [(text.text, text.style) for text in marked] == [
        ("Words outside ", ""),
        ("words inside", "x-a"),
        (" outside again.", ""),
    ]


def test_repeated_texts_are_told_apart_by_their_order(compare):
    html = "<p>A sentence that stands twice, and is long enough to be kept.</p>" * 2 + "<p>A third.</p>"
    marked = mark(compare(html, ["pab"]))
    assert [texts[0].reasons[0] for texts in marked[:2]] == [Reason.KEPT, Reason.PAGE_DUPLICATE]


def test_a_rendered_page_is_matched_by_its_texts(source):
    """Its tree is another one: here it lacks a paragraph and has one more."""
    raw = parse("<p>First words.</p><p>Gone words.</p><p>Same.</p><p>Same.</p>")
    drawn = parse("<div><p>First  words.</p><p>New words.</p><p>Same.</p><p>Same.</p></div>")
    compared = ComparedPage(source(""), raw, walk(raw.root), 0.0, 0.0, {"default": rendered(drawn)})
    assert [texts[0].reasons[0] is not None for texts in mark(compared)] == [True, False, True, True]


def rendered(page: Page):
    return ComparedMethod(decide_leaves(page, METHODS["default"], Options()), 0.0, rendered=True)


def test_only_the_first_leaves_are_marked(compare):
    assert len(mark(compare("<p>a</p>" * 50, ["default"]), 7)) == 7


def written(compared, leaves=20_000, **more):
    return "".join(compared_page(compared, leaves, **more))


def root(text):
    return lxml_html.document_fromstring(text.encode("utf-8"))


def test_classes_are_ours(compare, hostile_html):
    tree = root(written(compare(hostile_html)))
    names = {name for element in tree.iter() for name in (element.get("class") or "").split()}
    ours = r"[ckrh]\d+|t|row|bars|text|part|same|x-[a-z0-9]+|[a-z]+"
    assert all(re.fullmatch(ours, name) for name in names)


def test_the_text_of_the_page_is_all_there(compare, article):
    compared = compare(article)
    tree = root(written(compared))
    row_texts = [" ".join(row.text_content().split()) for row in tree.xpath("//div[contains(@class, 'text')]")]
    assert row_texts == [leaf.block.text for leaf in compared.leaves]


def test_a_kept_text_has_the_class_and_the_bar_of_its_method(compare, article):
    compared = compare(article, ["default", "subtree"])
    tree = root(written(compared))
    for place, result in enumerate(compared.results.values()):
        rows = tree.xpath(f"//div[contains(concat(' ', @class, ' '), ' r{place} ')]")
        texts = [" ".join(row.text_content().split()) for row in rows]
        assert texts == [block.text for block in result.kept]
        assert all(row.xpath(f".//span[@class='bars']/i[@class='c{place}']") for row in rows)
        assert all(f"data-{place}" not in row.attrib for row in rows)


def test_a_dropped_text_says_why(compare, article):
    tree = root(written(compare(article, ["default"])))
    (row,) = [row for row in tree.xpath("//div[@data-0]") if "Copyright" in row.text_content()]
    assert row.get("data-0") == "footer"
    assert "dropped by default (footer)" in row.xpath(".//span/@data-why")[0]


def test_the_legend_has_each_methods_totals(compare, article):
    compared = compare(article, ["default"])
    (entry,) = root(written(compared)).xpath("//label[@for='m0'][@class]")
    result = compared.results["default"]
    assert f"{len(result.kept)}/{len(result.judged)} blocks · {result.words} words" in entry.text_content()


def test_a_method_that_failed_is_named_with_its_reason(compare, article):
    text = written(compare(article, ["default", "ce"]))
    assert "this is the only page of its site" in root(text).xpath("//p[@class='failed']")[0].text_content()


def test_arabic_is_read_from_right_to_left(compare):
    text = written(
        compare("<p>\u200fارتفع النهر في الليل وأغلق الجسر عند الطاحونة حتى الصباح كما قال العمدة.</p>", ["default"])
    )
    assert 'dir="auto"' in text


@pytest.mark.slow
def test_a_page_of_10_000_blocks_is_written_in_linear_time(compare):
    small, compared = (
        compare("<p>word <a href=/>link</a></p>" * count, ["default", "subtree", "pab"]) for count in (1_250, 11_000)
    )
    text = written(compared, 10_000)
    # The shown blocks are eight times as many.
    assert cpu_growth(lambda page: written(page, 10_000), small, compared) < 20
    assert "1,000 more blocks are not shown" in text
    assert text.count('<div class="row') == 10_000


def test_a_page_without_text_is_a_page(compare):
    compared = compare("<img src=x>", ["default"])
    assert "0 words" in written(compared)


@pytest.fixture
def write(compare, source):
    """Compare pages by one method and write the comparison."""

    def run(out, pages, *, several=False, name="pages"):
        sources = [source(html, url) for url, html in pages.items()]
        totals = ComparisonTotals(["default"])
        with ComparisonPages(
            out, ReportTarget(name, sources, several=several), ComparisonPlan(["default"]), 20_000
        ) as written:
            for page in sources:
                compared = compare(page, ["default"])
                totals.add(page, compared)
                written.add(page, compared)
            written.finish(totals)

    return run


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_page_is_a_file_and_nothing_else(write, tmp_path):
    write(tmp_path / "out.html", {"a": "<p>a"})
    assert files(tmp_path) == ["out.html"]


def test_a_folder_is_a_page_each_and_an_index(write, tmp_path):
    write(tmp_path / "out", {"a&b": "<p>a", "c": "", "d": "<p>d"}, several=True)
    assert files(tmp_path / "out") == ["index.html", "page-00001.html", "page-00003.html"]
    index = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert '<a href="page-00001.html">a&amp;b</a>' in index
    assert "Content-Security-Policy" in index
    assert "empty" in index
    assert '<a href="index.html">' in (tmp_path / "out" / "page-00003.html").read_text("utf-8")


def test_an_earlier_comparison_is_replaced_whole(write, tmp_path):
    write(tmp_path / "out", {"a": "<p>a", "b": "<p>b"}, several=True)
    write(tmp_path / "out", {"c": "<p>c"}, several=True)
    assert files(tmp_path) == ["out"]
    assert files(tmp_path / "out") == ["index.html", "page-00001.html"]
    write(tmp_path / "one.html", {"a": "<p>first"})
    write(tmp_path / "one.html", {"a": "<p>second"})
    assert "second" in (tmp_path / "one.html").read_text("utf-8")


@pytest.mark.parametrize("several", [False, True])
def test_a_foreign_file_or_folder_is_not_overwritten(write, tmp_path, several):
    out = tmp_path / "out"
    if several:
        out.mkdir()
        (out / "index.html").write_text("my diary")
    else:
        out.write_text("my diary")
    with pytest.raises(CompareError, match="not overwritten"):
        write(out, {"a": "<p>a"}, several=several)
    assert "my diary" in (out / "index.html" if several else out).read_text()


def test_a_folder_with_one_foreign_file_is_left_alone(write, tmp_path):
    write(tmp_path / "out", {"a": "<p>a"}, several=True)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(CompareError, match="not overwritten"):
        write(tmp_path / "out", {"a": "<p>a"}, several=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_link_is_not_written_through(write, tmp_path):
    (tmp_path / "link.html").symlink_to(tmp_path / "elsewhere.html")
    with pytest.raises(CompareError, match="something else is there"):
        write(tmp_path / "link.html", {"a": "<p>a"})


def test_a_file_in_place_of_the_output_folder_is_an_error(write, tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(CompareError, match="must be a folder"):
        write(tmp_path / "out", {"a": "<p>a"}, several=True)


def test_a_missing_parent_is_named(write, tmp_path):
    with pytest.raises(CompareError, match="there is no folder"):
        write(tmp_path / "absent" / "out.html", {"a": "<p>a"})


def test_nothing_is_written_into_what_is_compared(write, tmp_path):
    with pytest.raises(CompareError, match="choose a folder outside"):
        write(tmp_path / "out", {"a": "<p>a"}, several=True, name=str(tmp_path))
    assert files(tmp_path) == []


def test_no_file_is_left_if_nothing_was_compared_or_it_was_interrupted(write, compare, source, tmp_path):
    write(tmp_path / "out.html", {"a": ""})
    target = ReportTarget("x", [source("<p>a")])

    def broken_off():
        with ComparisonPages(tmp_path / "out.html", target, ComparisonPlan(["default"]), 100) as pages:
            pages.add(target.sources[0], compare("<p>a", ["default"]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert files(tmp_path) == []


def test_an_unwritable_folder_is_one_sentence(write):
    if not Path("/proc").is_dir():
        pytest.skip("this system has no /proc")
    with pytest.raises(CompareError, match="cannot write"):
        write(Path("/proc/out.html"), {"a": "<p>a"})
