"""An explanation for readers: on the terminal, and as an inert page that shows every decision."""

import re
from collections import Counter

import pytest
from cpu_time import bounded_cpu_time
from lxml import html as lxml_html
from rich.cells import cell_len

from cleaning.terms import normalise
from crawler.reports.explain import HtmlOrigin, PageToExplain, explain
from crawler.reports.explanation import explanation_page, print_explanation
from crawler.reports.sources import LoadedPage


@pytest.fixture
def explained_lines(capsys, monkeypatch):
    """Explain a page and return the lines printed, as in a terminal of so many columns without colours."""

    def run(html, most_rows=500, name="page.html", **options):
        print_explanation(
            PageToExplain(name, None, HtmlOrigin.FILE, LoadedPage(b"")), explain(html, **options), most_rows
        )
        return capsys.readouterr().out.splitlines()

    return run


def test_each_block_is_a_line_and_says_its_decision_in_letters(explained_lines, article):
    lines = explained_lines(article)
    blocks = [line for line in lines if re.match(r" *\d+ [+-] ", line)]
    assert len(blocks) == len(explain(article).rows)
    assert re.fullmatch(r" +2 \+ kept +\d\.\d\d +0\.10 paragraph +The river rose in the night.*", blocks[2])
    assert re.fullmatch(r" +4 - footer +0\.\d\d +0\.00 paragraph +Copyright 2024 by the town", blocks[4])


def test_the_legend_adds_up(explained_lines, article):
    lines = explained_lines(article)
    counts = [int(match[1]) for line in lines if (match := re.match(r"│ [+-] \w+ +│ +(\d+) │", line))]
    (total,) = [int(match[1]) for line in lines if (match := re.match(r"│ all +│ +(\d+) │", line))]
    assert total == sum(counts) == len(explain(article).rows)


def test_wide_characters_are_cut_by_the_cells_that_they_take(explained_lines):
    lines = explained_lines("<p>" + "河水在夜里上涨了镇长说磨坊旁边的桥一直关闭到早晨" * 20 + "</p>")
    (line,) = [line for line in lines if "河水" in line]
    assert cell_len(line) <= 160
    assert line.endswith("…")


def test_nothing_hostile_reaches_the_terminal(explained_lines):
    lines = explained_lines(
        "<p>[/b][red]red[/red] \x1b[2J and \u202ereversed\u2066 \x07 text, many words of it.</p>", name="\x1b[2J"
    )
    out = "\n".join(lines)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out)
    assert "[/b][red]red[/red]" in out


def test_code_is_one_line(explained_lines):
    lines = explained_lines("<pre>def f():\n\treturn 1\n</pre>")
    assert any(line.endswith("def f(): return 1") for line in lines)


def test_only_the_first_blocks_are_shown_but_all_are_counted(explained_lines):
    lines = explained_lines("<p>word</p>" * 1_000, most_rows=10)
    assert sum(bool(re.match(r" *\d+ [+-] ", line)) for line in lines) == 10
    assert "and 990 more blocks; --limit shows more, --json all" in lines
    assert any(re.match(r"│ all +│ +1,000 │", line) for line in lines)


def test_what_a_block_repeats_stands_under_it(explained_lines):
    lines = explained_lines("<p>A sentence that stands twice.</p>" * 2, method="pab")
    (place,) = [number for number, line in enumerate(lines) if "- page_duplicate" in line and "│" not in line]
    assert lines[place + 1].strip() == "repeats block 0"


def test_methods_say_what_they_ask_for(explained_lines, article):
    assert "page type article" in explained_lines(article)[2]
    assert "favour recall" in explained_lines(article, favour="recall")[2]
    assert "kept above 0.50" in explained_lines("<div>One, two.</div><div></div>", method="weighted")[2]


def test_a_page_without_text_has_an_empty_table(explained_lines):
    assert any(re.match(r"│ all +│ +0 │ +0 │", line) for line in explained_lines("<img>"))


def written(page, **more):
    return "".join(explanation_page(explain(page, **more)))


def root(text):
    return lxml_html.document_fromstring(text.encode("utf-8"))


def letters(text):
    return "".join(normalise(text).split())


def test_classes_are_ours(hostile_html, raw_method):
    tree = root(written(hostile_html, method=raw_method))
    (page,) = tree.xpath("//div[@class='page']")
    names = {name for element in page.iterdescendants() for name in (element.get("class") or "").split()}
    assert all(re.fullmatch(r"x-[a-z0-9]+|gone|[tkdf]|r\d+", name) for name in names), names


def test_every_text_is_shown_in_the_colour_of_its_decision(some_golden, raw_method):
    explained = explain(some_golden.read_bytes(), method=raw_method)
    tree = root("".join(explanation_page(explained)))
    for looks, is_kept in (("k", True), ("d", False)):
        spans = tree.xpath(f"//main//span[contains(concat(' ', @class, ' '), ' {looks} ')]")
        texts = [row.block.text for row in explained.rows if row.decision.kept is is_kept]
        assert Counter(letters("".join(span.text_content() for span in spans))) == Counter(letters("".join(texts)))


def test_the_pointer_is_told_why(article):
    spans = root(written(article)).xpath("//span[@data-why]")
    (copyright_,) = [span for span in spans if "Copyright" in span.text]
    first, facts, *_ = copyright_.get("data-why").splitlines()
    assert first == "dropped: footer, in the page's footer"
    assert re.match(
        r"block \d+ · score 0\.\d\d · priority 0\.00 · paragraph · 5 words, 0 in links · /html/body/", facts
    )


def test_the_legend_has_a_number_and_the_counts_of_each_reason(article):
    explained = explain(article)
    entries = root("".join(explanation_page(explained))).xpath("//div[@class='reasons']/*")
    sizes = {entry.find("b").text: int(entry.find("span").text) for entry in entries}
    assert sizes.pop("all blocks") == len(explained.rows) == sum(sizes.values())
    assert sizes == {reason.replace("_", " "): count for reason, count in explained.counts().items()}
    chips = [entry.find("i").text for entry in entries[:-1]]
    assert chips == ["✓", *map(str, range(1, len(chips)))]


def test_pictures_leave_a_word_but_no_address():
    text = written("<p>See it:</p><img src=http://evil.example/a.png alt='A boat'><img width=1 src=b><iframe src=c>")
    assert root(text).xpath("//span[@class='gone']/text()") == ["image: A boat", "frame"]
    assert "evil" not in text


def test_text_of_a_noscript_is_shown_where_it_was_read_and_only_there():
    words = " ".join(f"word{number}" for number in range(150))
    assert words in written(f"<div id=app></div><noscript><p>{words}</p><img src=x></noscript>")
    assert "JavaScript" not in written(f"<p>{words}</p><noscript>Switch JavaScript on.</noscript>")


def test_a_title_that_is_a_block_stands_above_the_page(article):
    tree = root(written(article, method="pab"))
    assert tree.xpath("//div[contains(@class, 'head')]")[0].text_content() == "The river"


def test_blocks_without_text_are_counted():
    text = written("<div>Some words, said he.</div><div></div>", method="weighted")
    assert "<b>empty</b><span>1</span>" in text
    assert "Blocks without text are counted" in text


def test_arabic_is_read_from_right_to_left():
    assert '<div class="x-p" dir="auto">' in written("<p>\u200fارتفع النهر في الليل</p>", method="eniw")


def test_deep_and_wide_pages_are_written_in_seconds():
    with bounded_cpu_time():
        for page in (
            "<div>" * 1_900 + "deep",
            "<b>" * 1_900 + "bold",
            "<table><tr><td>" * 600 + "x",
            "<p>a<i>b</i>" * 9_000,
        ):
            text = written(page)
            assert text.count("<div") == text.count("</div>")
            assert text.count("<span") == text.count("</span>")


def test_a_page_with_too_many_texts_is_cut():
    text = written("<p>word <a href=/>link</a></p>" * 10_500)
    assert text.count(' class="t ') == 20_000
    assert text.count("<div") == text.count("</div>")
    assert "the rest is not shown" in text


def test_a_text_that_is_too_long_is_cut():
    text = written("<p>" + "w" * 3_000_000)
    assert 2_000_000 < len(text) < 2_100_000
    assert "the rest is not shown" in text
