"""Where comparison pages are written."""

from pathlib import Path

import pytest

from crawler.compare.figures import Figures
from crawler.compare.output import Pages
from crawler.compare.plan import Plan
from crawler.compare.targets import Target
from crawler.errors import CompareError


@pytest.fixture
def write(compare, source):
    """Compare pages by one method and write the comparison."""

    def run(out, pages, *, several=False, name="pages"):
        sources = [source(html, each) for each, html in pages.items()]
        figures = Figures(["default"])
        with Pages(out, Target(name, sources, several=several), Plan(["default"]), 20_000) as written:
            for each in sources:
                found = compare(each, ["default"])
                figures.add(each, found)
                written.add(each, found)
            written.finish(figures)

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
def test_what_is_no_comparison_is_not_overwritten(write, tmp_path, several):
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
    with pytest.raises(CompareError, match="something else stands there"):
        write(tmp_path / "link.html", {"a": "<p>a"})


def test_a_file_where_a_folder_is_to_be_is_named(write, tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(CompareError, match="is to be a folder"):
        write(tmp_path / "out", {"a": "<p>a"}, several=True)


def test_a_missing_parent_is_named(write, tmp_path):
    with pytest.raises(CompareError, match="there is no folder"):
        write(tmp_path / "absent" / "out.html", {"a": "<p>a"})


def test_nothing_is_written_into_what_is_compared(write, tmp_path):
    with pytest.raises(CompareError, match="choose a folder outside"):
        write(tmp_path / "out", {"a": "<p>a"}, several=True, name=str(tmp_path))
    assert files(tmp_path) == []


def test_nothing_is_left_where_nothing_was_compared_or_it_broke_off(write, compare, source, tmp_path):
    write(tmp_path / "out.html", {"a": ""})
    target = Target("x", [source("<p>a")])

    def broken_off():
        with Pages(tmp_path / "out.html", target, Plan(["default"]), 100) as pages:
            pages.add(target.sources[0], compare("<p>a", ["default"]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert files(tmp_path) == []


def test_a_folder_that_takes_no_file_is_one_sentence(write):
    if not Path("/proc").is_dir():
        pytest.skip("this system has no /proc")
    with pytest.raises(CompareError, match="cannot write"):
        write(Path("/proc/out.html"), {"a": "<p>a"})
