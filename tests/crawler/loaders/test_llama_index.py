"""The reader as LlamaIndex uses it."""

from cleaned_pages import address, fill, html

from crawler.loaders.llama_index import BlocksieveReader
from crawler.storage.database import opened_engine
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store


def test_a_database_an_export_and_pages(tmp_path):
    url = f"sqlite:///{tmp_path}/blocks.db"
    with opened_engine(url) as engine:
        prepare_schema(engine)
        fill(Store(engine), 2)
    reader = BlocksieveReader()
    assert [document.metadata["url"] for document in reader.load_data(url)] == [address(0), address(1)]
    assert {document.metadata["kind"] for document in reader.load_data(url, "blocks")} >= {"paragraph"}
    (page,) = reader.load_data([(html(3), address(3))], favour="recall")
    assert "Ferry 3 is late" in page.text
    path = tmp_path / "out.csv"
    path.write_text("id,url,text\n7,https://a.example/,words\n")
    (row,) = reader.load_data(path)
    assert (row.id_, row.text) == ("7", "words")
