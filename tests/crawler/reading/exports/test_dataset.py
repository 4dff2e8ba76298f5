"""A dataset folder: its files, its card, and that it appears whole or not at all."""

import pytest
import yaml
from exported import URL
from pyarrow import parquet
from sqlalchemy import text

from crawler.errors import ExportError
from crawler.reading.exports import dataset
from crawler.reading.exports.forms import ExportForm
from crawler.reading.exports.rows import ExportContent

REQUEST = {"content": ExportContent.PAGES, "form": ExportForm.HUGGINGFACE}


def test_the_rows_are_in_files_that_say_how_many_they_are(write, monkeypatch):
    monkeypatch.setattr(dataset, "_FILE_CHARS", 1)
    monkeypatch.setattr(dataset, "_ROWS_PER_WRITE", 1)
    exported, path = write("corpus", **REQUEST)
    files = sorted((path / "data").iterdir())
    assert [file.name for file in files] == ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]
    assert parquet.read_table(files[0])["url"].to_pylist() == [URL]
    assert exported.rows == 2


def test_the_card_states_what_the_rows_are(write):
    _, path = write("corpus", **REQUEST)
    card = (path / "README.md").read_text("utf-8")
    front, _, body = card.removeprefix("---\n").partition("---\n")
    assert "language:\n- " in front
    assert "size_categories:\n- n<1K\n" in front
    assert "path: data/*.parquet" in front
    assert "2 pages with" in body
    assert "- `text` (string): their texts in reading order, one a line" in body
    assert "| language | rows |" in body


def test_no_row_is_a_dataset_too(write):
    exported, path = write("corpus", where=("words>1000000",), **REQUEST)
    assert exported.rows == 0
    assert "0 pages with 0 words from 0 sites" in (path / "README.md").read_text("utf-8")
    assert parquet.read_table(path / "data" / "train-00000-of-00001.parquet").num_rows == 0


def test_a_folder_that_exists_is_left_alone(write, folder):
    (folder / "corpus").mkdir()
    with pytest.raises(ExportError, match="which exists; choose another folder"):
        write("corpus", **REQUEST)
    assert list((folder / "corpus").iterdir()) == []


def test_nothing_is_left_after_an_error(write, folder):
    def fail(count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write("corpus", report=fail, **REQUEST)
    assert list(folder.iterdir()) == []


def test_names_that_yaml_would_read_as_something_else_are_quoted(write, engine):
    with engine.begin() as connection:
        connection.execute(text("UPDATE page SET language = 'no'"))
    _, path = write("corpus: one", **REQUEST)
    front = yaml.safe_load((path / "README.md").read_text("utf-8").split("---")[1])
    assert (front["language"], front["pretty_name"]) == (["no"], "corpus: one")
