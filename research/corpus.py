"""The development data: pages with their gold texts, and a pinned sample of them.

The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import xxhash

from research.training.gold import Snippets

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("BLOCKSIEVE_DATA", ROOT.parent / "shared" / "data")).absolute()


@dataclass(frozen=True)
class Sample:
    """A page with its gold text and what it is grouped by; its bytes are read when asked for."""

    id: str
    url: str | None
    path: Path
    text: str
    type: str
    language: str | None
    host: str
    snippets: Snippets | None = None  # in place of a gold text

    @property
    def body(self):
        return gzip.decompress(self.path.read_bytes())

    @property
    def half(self):
        """Return which half of the data the page is in; all pages of a host are in the same."""
        return "hosts A" if zlib.crc32(self.host.encode()) % 2 else "hosts B"


def read_samples(name):
    """Return the pages of a data set, in its order."""
    folder = DATA / "extraction" / name
    with (folder / "truth.jsonl").open(encoding="utf-8") as lines:
        return [_sample(json.loads(line), folder) for line in lines]


def _sample(truth, folder):
    host = urlsplit(truth.get("url") or "").hostname or truth["id"].rsplit("_", 3)[0]
    return Sample(
        truth["id"],
        truth.get("url"),
        folder / truth["html_path"],
        truth["text"],
        truth.get("type") or "article",
        truth.get("lang"),
        host,
        Snippets.of_truth(truth),
    )


def pin(samples, count):
    """Return so many of the pages, chosen by the hashes of their ids; a smaller choice is part of a larger one."""
    return sorted(samples, key=lambda sample: xxhash.xxh64_hexdigest(sample.id.encode()))[:count]


def same_hosts(samples, chosen):
    """Return the pages of the hosts of the chosen ones, in order."""
    hosts = {sample.host for sample in chosen}
    return [sample for sample in samples if sample.host in hosts]


def digest(samples):
    """Return a hash of the pages' ids, bytes and gold texts, in whatever order they come."""
    state = xxhash.xxh64()
    for sample in sorted(samples, key=lambda sample: sample.id):
        for part in (sample.id.encode(), sample.body, sample.text.encode()):
            state.update(len(part).to_bytes(8, "big") + part)
    return state.hexdigest()
