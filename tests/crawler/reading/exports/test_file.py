"""Files of exports read back, and files that are none."""

import gzip

import pytest

from crawler.errors import ExportError
from crawler.reading.exports.file import read_export_rows
from crawler.reading.exports.rows import ExportContent


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet", "out.csv"])
@pytest.mark.parametrize("content", [ExportContent.BLOCKS, ExportContent.PAGES])
def test_an_export_is_read_back(write, name, content):
    exported, path = write(name, content=content)
    rows = list(read_export_rows(path))
    assert len(rows) == exported.rows > 0
    assert [int(row["id"]) for row in rows] == sorted(int(row["id"]) for row in rows)
    assert all(row["url"].startswith("http") and row["text"] for row in rows)


def test_rows_that_are_gone_are_left_out(folder):
    path = folder / "out.jsonl"
    path.write_text('{"change": "gone", "id": 1, "url": null, "text": null}\n{"id": 2, "url": "u", "text": "x"}\n')
    assert [row["id"] for row in read_export_rows(path)] == [2]


def test_the_quote_before_a_formula_is_removed(folder):
    path = folder / "out.csv"
    path.write_text("id,url,title,text\n1,u,'=1+1,'-x\n")
    (row,) = read_export_rows(path)
    assert (row["title"], row["text"]) == ("=1+1", "-x")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "is no export"),
        ("a.jsonl", b'{"id": 1}\n', "has no column 'url'"),
        ("a.jsonl", b"no JSON\n", "cannot be read to its end"),
        ("a.jsonl.gz", gzip.compress(b"x" * 9_999, mtime=0)[:-9], "cannot be read to its end"),
        ("a.parquet", b"no Parquet", "cannot be read to its end"),
        ("a.csv", b"id,url,text\n\xff,\n", "cannot be read to its end"),
    ],
)
def test_another_file_is_named(folder, name, content, message):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (folder / name).write_bytes(content)
    with pytest.raises(ExportError, match=message):
        list(read_export_rows(folder / name))
