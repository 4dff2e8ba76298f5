"""The manifests name the pages of the data at hand, and tell another page."""

import gzip
import json

import manifest
import pytest


@pytest.mark.parametrize("name", manifest.SETS)
def test_the_data_is_that_of_the_manifest(data, name):
    assert manifest.differences(name) == []
    assert len(manifest.read_manifest(name)) > 50


def test_other_pages_are_named(tmp_path, monkeypatch):
    folder = tmp_path / "extraction" / "wcxb-dev"
    (folder / "html").mkdir(parents=True)
    monkeypatch.setattr(manifest, "DATA", tmp_path)
    monkeypatch.setattr(manifest, "FOLDER", tmp_path)

    def write(pages):
        rows = []
        for page, (body, text) in pages.items():
            (folder / "html" / f"{page}.gz").write_bytes(gzip.compress(body.encode(), mtime=len(body)))
            rows.append({"id": page, "url": f"https://a.example/{page}", "html_path": f"html/{page}.gz", "text": text})
        (folder / "truth.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")

    write({"1": ("<p>one", "one"), "2": ("<p>two", "two"), "3": ("<p>three", "three")})
    manifest.write_manifest("wcxb-dev")
    assert manifest.differences("wcxb-dev") == []
    write({"1": ("<p>One", "one"), "2": ("<p>two", "Two"), "4": ("<p>four", "four")})
    assert manifest.differences("wcxb-dev") == [
        "wcxb-dev: 1 has another bytes",
        "wcxb-dev: 2 has another gold",
        "wcxb-dev: 3 is missing",
        "wcxb-dev: 4 is not in the manifest",
    ]
