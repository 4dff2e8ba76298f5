"""Folders of pages that readers annotate."""

import hashlib

import pytest
import small_data

from cleaning.training.pool import digest_body, read_pool

CHINESE = "<p>港口委员会星期一开会，讨论了新桥的计划。"


def test_listed_pages_have_their_addresses_and_encodings(tmp_path):
    (page,) = read_pool(small_data.write_pool(tmp_path / "pool", {"one": "<p>Text"}))
    assert (page.set, page.id, page.url, page.encoding) == ("pool", "one", "https://one.example/1", "utf-8")
    body = page.read_body()
    assert body == b"<title>one</title><body><p>Text"
    assert page.parse(body).url == page.url
    assert digest_body(body) == hashlib.sha256(body).hexdigest()[:16]


def test_indexed_pages_are_read_in_their_true_encoding(tmp_path):
    bodies = {"00.html.gz": CHINESE.encode("gb18030"), "01.html.gz": CHINESE.encode()}
    pages = read_pool(small_data.write_index(tmp_path / "sites", "sina", bodies))
    assert [(page.set, page.id, page.url) for page in pages] == [("sites", "sina/00", None), ("sites", "sina/01", None)]
    assert [page.encoding for page in pages] == ["gb18030", "utf-8"]
    for page in pages:
        assert "讨论了新桥的计划" in page.parse(page.read_body()).root.text_content()


def test_folder_without_a_list_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"index\.tsv"):
        read_pool(tmp_path)
