"""An explanation on the terminal."""

import re

import pytest
from rich.cells import cell_len

from crawler.compare.targets import Loaded
from crawler.explain.explained import explain
from crawler.explain.origin import Found, Origin
from crawler.explain.show import show


@pytest.fixture
def shown(capsys, monkeypatch):
    """Explain a page and return the lines printed, as in a terminal of so many columns without colours."""

    def run(html, most_rows=500, name="page.html", **options):
        show(Found(name, None, Origin.FILE, Loaded(b"")), explain(html, **options), most_rows)
        return capsys.readouterr().out.splitlines()

    return run


def test_each_block_is_a_line_and_says_its_decision_in_letters(shown, article):
    lines = shown(article)
    blocks = [line for line in lines if re.match(r" *\d+ [+-] ", line)]
    assert len(blocks) == len(explain(article).rows)
    assert re.fullmatch(r" +2 \+ kept +\d\.\d\d +0\.10 paragraph +The river rose in the night.*", blocks[2])
    assert re.fullmatch(r" +4 - footer +0\.\d\d +0\.00 paragraph +Copyright 2024 by the town", blocks[4])


def test_the_legend_adds_up(shown, article):
    lines = shown(article)
    counts = [int(found[1]) for line in lines if (found := re.match(r"│ [+-] \w+ +│ +(\d+) │", line))]
    (total,) = [int(found[1]) for line in lines if (found := re.match(r"│ all +│ +(\d+) │", line))]
    assert total == sum(counts) == len(explain(article).rows)


def test_wide_characters_are_cut_by_the_cells_that_they_take(shown):
    lines = shown("<p>" + "河水在夜里上涨了镇长说磨坊旁边的桥一直关闭到早晨" * 20 + "</p>")
    (line,) = [line for line in lines if "河水" in line]
    assert cell_len(line) <= 160
    assert line.endswith("…")


def test_nothing_hostile_reaches_the_terminal(shown):
    lines = shown(
        "<p>[/b][red]red[/red] \x1b[2J and \u202ereversed\u2066 \x07 text, many words of it.</p>", name="\x1b[2J"
    )
    out = "\n".join(lines)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out)
    assert "[/b][red]red[/red]" in out


def test_code_is_one_line(shown):
    lines = shown("<pre>def f():\n\treturn 1\n</pre>")
    assert any(line.endswith("def f(): return 1") for line in lines)


def test_only_the_first_blocks_are_shown_but_all_are_counted(shown):
    lines = shown("<p>word</p>" * 1_000, most_rows=10)
    assert sum(bool(re.match(r" *\d+ [+-] ", line)) for line in lines) == 10
    assert "and 990 more blocks; --limit shows more, --json all" in lines
    assert any(re.match(r"│ all +│ +1,000 │", line) for line in lines)


def test_what_a_block_repeats_stands_under_it(shown):
    lines = shown("<p>A sentence that stands twice.</p>" * 2, method="pab")
    (place,) = [number for number, line in enumerate(lines) if "- page_duplicate" in line and "│" not in line]
    assert lines[place + 1].strip() == "repeats block 0"


def test_methods_say_what_they_ask_for(shown, article):
    assert "page type article" in shown(article)[2]
    assert "favour recall" in shown(article, favour="recall")[2]
    assert "kept above 0.50" in shown("<div>One, two.</div><div></div>", method="weighted")[2]


def test_a_page_without_text_is_shown_as_that(shown):
    assert any(re.match(r"│ all +│ +0 │ +0 │", line) for line in shown("<img>"))
