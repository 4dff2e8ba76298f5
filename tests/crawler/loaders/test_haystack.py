"""The converter in a pipeline of Haystack, which stores and restores it."""

import pytest
from cleaned_pages import address, html
from haystack import Pipeline
from haystack.dataclasses import ByteStream

from cleaning import OptionError
from crawler.loaders.haystack import BlocksieveConverter


def test_pages_become_documents_and_what_is_none_is_left_out(tmp_path, caplog):
    page = tmp_path / "page.html"
    page.write_text(html(1))
    empty = ByteStream(b"<p>", meta={"url": "https://a.example/empty"})
    stream = ByteStream(html(2).encode(), meta={"url": address(2), "mine": 7})
    pipeline = Pipeline()
    pipeline.add_component("converter", BlocksieveConverter(favour="precision"))
    restored = Pipeline.loads(pipeline.dumps(), allowed_modules=["crawler.loaders.haystack"])
    assert restored.get_component("converter").options == {"favour": "precision"}
    sources = [page, stream, empty, ByteStream(b"%PDF-1.7 \0"), tmp_path / "none.html"]
    documents = pipeline.run({"converter": {"sources": sources}})["converter"]["documents"]
    assert ["Ferry 1 is late" in documents[0].content, "Ferry 2 is late" in documents[1].content] == [True, True]
    assert len(documents) == 2
    assert (documents[1].meta["url"], documents[1].meta["mine"]) == (address(2), 7)
    assert sum("is left out" in message for message in caplog.messages) == 3


def test_an_unknown_option_is_refused():
    with pytest.raises(OptionError, match="did you mean 'favour'"):
        BlocksieveConverter(favor="recall")
    with pytest.raises(OptionError, match="did you mean 'default'"):
        BlocksieveConverter(method="defalt")
