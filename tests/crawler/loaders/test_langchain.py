"""The loader as LangChain uses it."""

from cleaned_pages import address, html

from crawler.loaders.langchain import BlocksieveLoader


def test_pages_are_loaded_twice(tmp_path):
    loader = BlocksieveLoader.from_pages([(html(1), address(1))])
    (document,) = loader.load()
    assert "Ferry 1 is late" in document.page_content
    assert (document.id, document.metadata["language"]) == (address(1), "en")
    assert [other.id for other in loader.lazy_load()] == [document.id]
    path = tmp_path / "out.jsonl"
    path.write_text('{"id": 2, "url": "https://a.example/", "text": "x"}\n')
    (row,) = BlocksieveLoader.from_export(path).load()
    assert (row.id, row.page_content, row.metadata["url"]) == ("2", "x", "https://a.example/")
