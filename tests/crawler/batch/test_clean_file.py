"""Records that harm their cleaning process, or lie, are lost alone."""

import re
from pathlib import Path

import pytest
from batch_jobs import options, pages, rows, settings
from warcs import article, paragraph, write_warc

from crawler.batch.job import run_batch

pytestmark = pytest.mark.slow

PAGES = 6
ALL_BLOCKS = {"CLEANING_SECONDS": 1.0, "CLEANING_OPTIONS": {"max_blocks": 10_000_000}}


def test_records_that_lie_or_break_off_are_lost_alone(tmp_path):
    """Damage of each kind: the other records of the files are pages."""
    packed = [write_warc(tmp_path / "one.warc.gz", [page]).read_bytes() for page in pages(0, PAGES)]
    plain = [write_warc(tmp_path / "one.warc", [page], packed=False).read_bytes() for page in pages(PAGES, PAGES)]
    spoilt = bytearray(packed[1])
    spoilt[len(spoilt) // 2 : len(spoilt) // 2 + 8] = b"\xff" * 8
    plain[1] = re.sub(rb"Content-Length: \d+", b"Content-Length: 100", plain[1], count=1)
    plain[3] = plain[3].replace(b"Content-Length", b"Content-Extent", 1)
    archives = tmp_path / "archives"
    archives.mkdir()
    (archives / "a.warc.gz").write_bytes(packed[0] + spoilt + packed[2] + packed[3][:-60])
    (archives / "b.warc").write_bytes(b"".join(plain))
    (archives / "c.parquet").write_bytes(b"PAR1 is not enough")
    summary = run_batch(options(tmp_path, archives))
    assert summary.lost == {
        "file/unreadable": 1,
        "record/bad_header": 1,
        "record/truncated": 1,
        "record/unpackable": 1,
        "record/wrong_length": 1,
    }
    assert summary.counts["stored/pages"] == 2 + PAGES - 2 == len(rows(tmp_path / "out", "pages"))
    reasons = sorted((Path(row["source"]).name, row["reason"]) for row in rows(tmp_path / "out", "rejected"))
    assert reasons == [
        ("a.warc.gz", "truncated"),
        ("a.warc.gz", "unpackable"),
        ("b.warc", "bad_header"),
        ("b.warc", "wrong_length"),
        ("c.parquet", "unreadable_file"),
    ]


@pytest.mark.parametrize(
    ("record", "outcome", "limits"),
    [
        # Cleaning it takes several times as long on any machine.
        (lambda: "<p>word".join(map(str, range(300_000))), "cleaning_timeout", {"settings": settings(**ALL_BLOCKS)}),
        # It needs four times as much.
        (lambda: "<p>".join(paragraph(number, 12) for number in range(40_000)), "cleaning_failed", {"memory": 20}),
    ],
    ids=["hangs", "eats memory"],
)
def test_a_record_that_hangs_or_eats_memory_is_lost_alone(tmp_path, record, outcome, limits):
    answers = list(pages(0, PAGES))
    answers.insert(1, ("https://a.example/bad", article("Bad", record())))
    path = write_warc(tmp_path / "a.warc.gz", answers)
    summary = run_batch(options(tmp_path, path, **limits))
    assert summary.lost == {f"visit/{outcome}": 1}
    assert summary.counts["stored/pages"] == PAGES
    (lost,) = rows(tmp_path / "out", "rejected")
    assert (lost["url"], lost["reason"]) == ("https://a.example/bad", outcome)
