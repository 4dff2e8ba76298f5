"""Documents of Dolma, and WET archives that warcio, FastWARC and we read."""

import gzip
import json

import pytest
from batch_jobs import options, rows
from datatrove.pipeline.readers import JsonlReader
from exported import GERMAN, HOSTILE, URL
from warcio.archiveiterator import ArchiveIterator

from crawler.batch.job import run_batch
from crawler.errors import ExportError
from crawler.reading.exports.forms import ExportForm
from crawler.reading.exports.rows import ChunkLimits, ExportContent


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".json.gz"])
def test_a_line_is_a_document(write, ending):
    _, path = write(f"pages{ending}", content=ExportContent.PAGES, form=ExportForm.DOLMA)
    content = gzip.decompress(path.read_bytes()) if ending.endswith(".gz") else path.read_bytes()
    first, second = (json.loads(line) for line in content.splitlines())
    assert first.keys() == {"id", "text", "source", "added", "created", "metadata"}
    assert (first["id"], first["text"], first["metadata"]["url"]) == ("1", "\n".join(HOSTILE), URL)
    assert second["text"].endswith(GERMAN)
    assert second["source"] == "blocksieve"


def test_each_chunk_has_an_id_of_its_own(write, structured):
    request = {"content": ExportContent.CHUNKS, "limits": ChunkLimits(50), "form": ExportForm.DOLMA}
    _, path = write("chunks.jsonl", **request)
    ids = [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]
    assert len(set(ids)) == len(ids) > 1


def test_datatrove_reads_the_documents(write, folder):
    write("pages.jsonl.gz", content=ExportContent.PAGES, form=ExportForm.DOLMA)
    documents = list(JsonlReader(str(folder), glob_pattern="pages.jsonl.gz").run())
    assert [document.id for document in documents] == ["1", "2"]
    assert documents[0].metadata["url"] == URL


@pytest.mark.parametrize("name", ["pages.wet", "pages.warc.wet.gz"])
def test_a_wet_archive_has_the_text_of_each_page(write, tmp_path, name):
    _, path = write(name, content=ExportContent.PAGES)
    with path.open("rb") as file:
        records = [
            (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read().decode())
            for record in ArchiveIterator(file, check_digests="raise")
        ]
    assert [kind for kind, _, _ in records] == ["warcinfo", "conversion", "conversion"]
    assert records[1][1:] == (URL, "\n".join(HOSTILE))
    run_batch(options(tmp_path, path))
    assert [page["url"] for page in rows(tmp_path / "out", "pages")] == [URL, records[2][1]]


def test_a_wet_archive_of_the_same_pages_has_the_same_records(write):
    texts = []
    for name in ("one.wet", "two.wet"):
        _, path = write(name, content=ExportContent.PAGES)
        with path.open("rb") as file:
            headers = [record.rec_headers.headers for record in ArchiveIterator(file)]
        texts.append(headers[1:])
    assert texts[0] == texts[1]


def test_a_wet_archive_has_no_blocks(write):
    with pytest.raises(ExportError, match="a WET archive has pages, not blocks"):
        write("blocks.wet")
