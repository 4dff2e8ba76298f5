"""The example of docs/scale.md that hands the tables of `scrapy batch` to datatrove. It needs the extra datatrove."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from warcs import article, paragraph, write_warc

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "training" / "training.py"
pytestmark = pytest.mark.slow


def prose(seed, sentences=14):
    """Return sentences that Gopher and C4 take for prose, other ones for each seed."""
    words = iter(paragraph(seed, 9 * sentences).lower().rstrip(".").split())
    return " ".join(
        f"The {next(words)} {next(words)} of {next(words)} {next(words)} and {next(words)} was with {next(words)} "
        f"{next(words)} to {next(words)} that {next(words)}."
        for _ in range(sentences)
    )


def test_pages_are_filtered_compared_and_masked_by_datatrove(tmp_path):
    pytest.importorskip("datatrove")
    harbour = f"{prose('harbour')} Write to ann@example.org, call +44 20 7946 0958, pay by 4111 1111 1111 1111."
    pages = {
        "first": harbour,
        "near": harbour.replace("Write to", "Please write to"),
        "other": prose("lantern"),
        "short": "Too short to be of use to a model.",
        "repetitive": "Click here to read more about it. " * 80,
    }
    records = [(f"https://a.example/{name}", article(name, f"<p>{text}</p>")) for name, text in pages.items()]
    write_warc(tmp_path / "a.warc.gz", records)
    batch = [sys.executable, "-m", "scrapy", "batch", "a.warc.gz", "--out", "cleaned", "--workers", "1"]
    subprocess.run([*batch, "--page-duplicates", "exact"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([sys.executable, EXAMPLE, "cleaned", "training"], cwd=tmp_path, check=True, capture_output=True)
    (texts,) = (tmp_path / "training" / "texts").glob("*.gz")
    kept = [json.loads(line) for line in gzip.decompress(texts.read_bytes()).splitlines()]
    assert [document["id"] for document in kept] == ["https://a.example/first", "https://a.example/other"]
    assert "Write to <email>, call <phone>, pay by <card>." in kept[0]["text"]
    assert "ann@" not in kept[0]["text"]
