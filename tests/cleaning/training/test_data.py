"""Reading the training data: gold texts, snippets, and what readers decided."""

import numpy as np
import pytest
import small_data

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError
from cleaning.training.annotations import Mark, write_annotations
from cleaning.training.data import SETS, hash_sets, read_examples
from cleaning.training.gold import TextScore
from cleaning.training.pool import read_pool
from cleaning.training.sheet import guess_page

BODY = "<h1>The bridge</h1><p>It is open.</p><p>Photo: Anna</p><p>Read more</p>"


def read(folder, name, annotations=None):
    return read_examples(folder, [name], *([] if annotations is None else [annotations]))


def annotate(folder, annotations, reader, marks, page_type=PageType.FORUM):
    """Store a reader's marks on the first page of the folder's pool."""
    page = guess_page(read_pool(folder / "pool")[0])
    annotation = page.annotated(reader, [Mark(mark) for mark in marks], page_type)
    write_annotations([annotation], reader, annotations)


@pytest.fixture
def pool(tmp_path):
    small_data.write_pool(tmp_path / "pool", {"one": BODY})
    return tmp_path


def test_chinese_pages_are_labelled_and_scored_by_characters(tmp_path):
    (example,) = read(small_data.write_magic(tmp_path), "magic-dev")
    assert (example.host, example.type, example.known, example.snippets) == ("bbs.example", "forum", None, None)
    assert example.labels.tolist() == [0, 0, 0, 1, 1, 0]
    assert example.words.tolist() == [2, 2, 2, 18, 22, 4]
    assert example.score("\n".join(small_data.MAGIC)) == TextScore(1.0, 1.0, 1.0)
    assert example.score(small_data.MAGIC[0]).recall == 18 / 40


def test_snippets_label_the_blocks_that_have_them(tmp_path):
    (example,) = read(small_data.write_snippets(tmp_path), "snippets-dev")
    assert (example.type, example.gold) == (None, "of the new bridge is spread over two")
    assert example.known.tolist() == [True, True, False, False, False, True, True]
    assert example.labels.tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert example.score("The plans of the new\nbridge are old. Sign in") == TextScore(0.5, 0.5, 0.5)
    assert example.score("") == TextScore(0.0, 0.0, 0.0)


def test_annotated_pages_have_the_marks_of_their_readers(pool, tmp_path):
    annotate(pool, tmp_path / "kept", "reader-01", "h+c-")
    annotate(pool, tmp_path / "kept", "reader-02", "h+--")
    (example,) = read(pool, "annotated", tmp_path / "kept")
    assert (example.id, example.set, example.host, example.type) == ("pool/one", "annotated", "one.example", "forum")
    assert example.known_labels.tolist() == [True, True, False, True]
    assert example.labels.tolist() == [1, 1, 0, 0]
    assert example.gold == "The bridge\nIt is open."


def test_headline_of_an_annotated_article_is_not_main_text(pool, tmp_path):
    annotate(pool, tmp_path / "kept", "reader-01", "h+c-", PageType.ARTICLE)
    (example,) = read(pool, "annotated", tmp_path / "kept")
    assert example.labels.tolist() == [0, 1, 1, 0]


def test_nothing_annotated_is_an_empty_set(tmp_path):
    assert read(tmp_path, "annotated", tmp_path / "none") == []


def test_annotated_pages_that_are_missing_or_changed_are_errors(pool, tmp_path):
    annotate(pool, tmp_path / "kept", "reader-01", "h+c-")
    small_data.write_pool(pool / "pool", {"one": f"{BODY}<p>More"})
    with pytest.raises(AnnotationError, match="reader-01 decided the page pool/one with digest"):
        read(pool, "annotated", tmp_path / "kept")
    small_data.write_pool(pool / "pool", {"two": BODY})
    with pytest.raises(AnnotationError, match=r"1 annotated pages are not in .*; the first is pool/one"):
        read(pool, "annotated", tmp_path / "kept")


def test_hash_of_annotated_pages_is_that_of_the_annotations(pool, tmp_path):
    annotate(pool, tmp_path / "kept", "reader-01", "h+c-")
    before = hash_sets(pool, ["annotated"], tmp_path / "kept")
    annotate(pool, tmp_path / "kept", "reader-02", "h+c-")
    assert before.keys() == {"annotated"}
    assert hash_sets(pool, ["annotated"], tmp_path / "kept") != before


def test_every_set_is_read_in_turn(tmp_path):
    folder = small_data.write(tmp_path, pages=1)
    small_data.write_magic(folder)
    small_data.write_snippets(folder)
    examples = read_examples(folder, list(SETS), tmp_path / "none")
    assert [example.set for example in examples] == ["fundus-dev", "wcxb-dev", "magic-dev", "snippets-dev"]
    assert all(np.isin(example.labels[~example.known_labels], 0).all() for example in examples)
