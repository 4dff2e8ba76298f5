"""One archive, several commands: each reads the same pages and loses the same records, whatever is damaged."""

import gzip
import json
import re
import zlib
from collections import Counter

import brotli
import pytest
from archive_crawl import crawl
from backports import zstd
from pyarrow import parquet
from scrapy.settings import Settings
from warcs import DATE, HTML, answer_records, article, paragraph, record

from crawler.batch.job import BatchOptions, batch_settings, run_batch
from crawler.config import Config
from crawler.fetching.replay import open_replay

LIMIT = 1_000_000
CHECKED = {zstd.CompressionParameter.checksum_flag: 1}
PACKED = (*HTML, ("Content-Encoding", "gzip"))
CHUNKED = (*HTML, ("Transfer-Encoding", "chunked"))
BROKEN = (*HTML, ("no header at all", ""), ("X-Folded", "one\r\n  two"))
GARBAGE = b"\x07garbage\r\n" * 30


def page(number):
    return article(f"Page {number}", paragraph(number), paragraph(f"{number} again"))


def good(site, number):
    return answer(site, number, page(number))


def answer(site, name, body, headers=HTML):
    (response,) = answer_records(f"{site}/{name}", body, headers=headers)
    return response


def packed(*records):
    return b"".join(gzip.compress(content, mtime=0) for content in records)


def frames(*records, dictionary=None):
    """Return a zstd file; its first frame holds the dictionary."""
    content = b"" if dictionary is None else dictionary.dict_content
    head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content if content else b""
    return head + b"".join(zstd.compress(part, options=CHECKED, zstd_dict=dictionary) for part in records)


def stating(response, difference):
    """Return a record whose length is wrong by so many bytes."""
    return re.sub(
        rb"(?<=\nContent-Length: )\d+", lambda digits: b"%d" % (int(digits[0]) + difference), response, count=1
    )


def corrupt(content, place):
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def without_address(response):
    return re.sub(rb"WARC-Target-URI: [^\r]*\r\n", b"", response)


def chunks(text, *, end=b"0\r\n\r\n"):
    half = len(text) // 2
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (text[:half], text[half:])) + end


def kinds(site):
    """Return the content of each kind of file, its pages, and what is lost by reason."""
    three = tuple(good(site, number) for number in (1, 2, 3))
    return (
        whole_files(three)
        | cut_files(three)
        | files_with_garbage(three)
        | files_with_a_wrong_byte(three)
        | files_with_a_wrong_length(three)
        | files_with_other_records(site, three)
        | files_with_other_bodies(site, three)
    )


def learned_frames(three):
    """Return a zstd file with a dictionary."""
    return frames(*three, dictionary=zstd.train_dict([*three] * 8, 3_000))


def one_stored_member(three):
    """Return a gzip file with one member that is packed without compression."""
    packer = zlib.compressobj(0, wbits=31)
    return packer.compress(b"".join(three)) + packer.flush()


def whole_files(three):
    all_three = b"".join(three)
    return {
        "whole": (all_three, 3, {}),
        "whole, packed": (packed(*three), 3, {}),
        "whole, one member": (gzip.compress(all_three, mtime=0), 3, {}),
        "whole, zstd": (frames(*three), 3, {}),
        "whole, zstd with a dictionary": (learned_frames(three), 3, {}),
        "whole, one zstd frame": (frames(all_three), 3, {}),
    }


def cut_files(three):
    first, second, _ = three
    all_three = b"".join(three)
    return {
        "cut at its end, zstd": (learned_frames(three)[:-20], 2, {"truncated": 1}),
        "cut at its end": (all_three[:-300], 2, {"truncated": 1}),
        "cut at its end, packed": (packed(*three)[:-100], 2, {"truncated": 1}),
        "cut at its end, one member": (one_stored_member(three)[:-300], 2, {"truncated": 1}),
        "cut within a header": (all_three[: len(first + second) + 30], 2, {"truncated": 1}),
    }


def files_with_garbage(three):
    first, second, third = three
    all_three = first + second + third
    zeros = bytes(700)
    return {
        "garbage": (first + GARBAGE + second + third, 3, {"bad_header": 1}),
        "garbage, packed": (packed(first) + GARBAGE + packed(second, third), 3, {"unpackable": 1}),
        "garbage, zstd": (frames(first) + GARBAGE + frames(second, third), 3, {"unpackable": 1}),
        "garbage first": (b"garbage" + all_three, 3, {"bad_header": 1}),
        "garbage first, packed": (b"garbage" + packed(*three), 3, {"bad_header": 1}),
        "NUL padding": (first + zeros + second + third + zeros, 3, {}),
        "NUL padding, packed": (packed(first) + zeros + packed(second, third) + zeros, 3, {}),
    }


def files_with_a_wrong_byte(three):
    first = three[0]
    all_three = b"".join(three)
    members = packed(*three)
    learned = learned_frames(three)
    return {
        "a byte of a frame": (corrupt(learned, len(learned) - 20), 2, {"unpackable": 1}),
        "a byte of a header": (corrupt(all_three, len(first)), 2, {"bad_header": 1}),
        "a byte between records": (corrupt(all_three, len(first) - 3), 3, {}),
        "a byte of a member": (corrupt(members, len(packed(first)) + 200), 2, {"unpackable": 1}),
        "the first byte, packed": (corrupt(members, 0), 2, {"bad_header": 1}),
        "a byte of the only member": (corrupt(one_stored_member(three), 600), 2, {"unpackable": 1}),
    }


def files_with_a_wrong_length(three):
    first, second, third = three
    wrong = {error: [stating(response, error) for response in three] for error in (-9, -2, -1, 1, 2, 900)}
    no_length = second.replace(b"\nContent-Length:", b"\nContent-Size:", 1)
    return {
        **{f"length {error:+d}": (b"".join(wrong[error]), 3, {}) for error in (-2, -1, 1)},
        "length +2 between others": (first + wrong[2][1] + third, 3, {}),
        "length +1 before garbage": (first + wrong[1][1] + GARBAGE + third, 3, {"bad_header": 1}),
        "length -9, packed": (packed(*wrong[-9]), 3, {}),
        "length +2, one member": (gzip.compress(first + wrong[2][1] + third), 3, {}),
        "length +900": (first + wrong[900][1] + third, 2, {"wrong_length": 1}),
        "no length": (first + no_length + third, 2, {"bad_header": 1}),
    }


def files_with_other_records(site, three):
    first, second, third = three
    body = page(3).encode()
    info = record("warcinfo", "", b"software: x\r\n", media_type="application/warc-fields")
    revisit = record("revisit", f"{site}/3", b"HTTP/1.1 304 Not Modified\r\n\r\n")
    request = record("request", f"{site}/3", b"GET /3 HTTP/1.1\r\nHost: a.example\r\n\r\n")
    resource = record("resource", f"{site}/3", body, media_type="text/html")
    lines = "\n".join(paragraph(f"line {number}") for number in range(4)).encode()
    conversion = record("conversion", f"{site}/3", lines, media_type="text/plain")
    return {
        "no address": (first + without_address(second) + third, 2, {"no_address": 1}),
        "no address, packed": (packed(first, without_address(second), third), 2, {"no_address": 1}),
        "resource": (first + second + resource, 3, {}),
        "conversion": (packed(first, second, conversion), 3, {}),
        "skipped records": (info + first + request + second + revisit, 2, {}),
        "no answer": (first + second + record("response", f"{site}/3", b"<html>no head</html>"), 2, {"unreadable": 1}),
        "two answers": (first + second + answer(site, "2", body), 2, {}),
    }


def files_with_other_bodies(site, three):
    first, second, _ = three
    body = page(3).encode()
    cut_gzip = gzip.compress(body)[:-90]

    def third_is(content, headers=HTML):
        return first + second + answer(site, "3", content, headers)

    return {
        "chunks": (third_is(chunks(body), CHUNKED), 3, {}),
        "chunks that are joined": (third_is(body, CHUNKED), 3, {}),
        "cut chunks": (third_is(chunks(body, end=b""), CHUNKED), 2, {"cut_body": 1}),
        "gzip body": (third_is(gzip.compress(body), PACKED), 3, {}),
        "brotli body": (third_is(brotli.compress(body), (*HTML, ("Content-Encoding", "br"))), 3, {}),
        "gzip body that is unpacked": (third_is(body, PACKED), 3, {}),
        "cut gzip body": (third_is(cut_gzip, PACKED), 2, {"download_failed": 1}),
        "cut body": (third_is(body, (*HTML, ("Content-Length", str(len(body) + 500)))), 2, {"cut_body": 1}),
        "broken header lines": (third_is(body, BROKEN), 3, {}),
    }


NAMES = tuple(kinds("https://a.example"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each kind, with pages of its own: its path, the pages in it, and what is lost."""
    folder = tmp_path_factory.mktemp("kinds")
    result = {}
    for number, name in enumerate(NAMES):
        content, pages, lost = kinds(f"https://host{number}.example")[name]
        path = folder / f"{number:02}.warc"
        path.write_bytes(content)
        result[name] = (path, pages, lost)
    return result


@pytest.fixture(scope="module")
def cleaned(files, tmp_path_factory):
    """The tables `pages` and `rejected` of one batch job over all files."""
    return clean(tmp_path_factory.mktemp("batch"), *(path for path, _, _ in files.values()))


def clean(folder, *paths):
    """Return the rows of the tables `pages` and `rejected` of a batch job."""
    own = Settings()
    inputs = [str(path) for path in paths]
    run_batch(BatchOptions(inputs, str(folder / "out"), batch_settings(Config.read(own), own), workers=0))
    return [parquet.read_table(folder / "out" / table).to_pylist() for table in ("pages", "rejected")]


@pytest.mark.parametrize("kind", NAMES)
def test_replay_batch_and_compare_read_and_lose_the_same(scrapy, files, cleaned, kind):
    path, pages, lost = files[kind]
    compared = json.loads(scrapy("compare", str(path), "--methods", "default", "--json").stdout)
    assert (compared["totals"]["compared"], compared["totals"]["failures"]) == (pages, lost)
    rows, rejected = ([row for row in table if row["source"] == str(path)] for table in cleaned)
    assert (len(rows), Counter(row["reason"] for row in rejected)) == (pages, lost)
    counts = open_replay(path, LIMIT).counts
    losses = [row for row in rejected if row["reason"] != "download_failed"]  # known once the body is unpacked
    assert [(loss.place.offset, loss.reason) for loss in counts.losses] == [
        (row["place"], row["reason"]) for row in losses
    ]


def test_a_file_with_many_damages_gives_every_command_the_same_pages(scrapy, tmp_path):
    """`crawl archive` stores the pages that `batch` writes; `compare` and `reclean` read as many of them."""
    site = "https://lake.example.org"
    first, second = (good(site, number) for number in (1, 2))
    body = page(3).encode()
    parts = [first, stating(second, 1), b"garbage" * 9 + b"\r\n\r\n", without_address(second)]
    parts += [record("revisit", f"{site}/1", b""), record("resource", f"{site}/3", body, media_type="text/html")]
    parts += [bytes(512), answer(site, "4", gzip.compress(body)[:-90], PACKED), answer(site, "5", body)[:-700]]
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(parts))
    lost = {"bad_header": 1, "no_address": 1, "truncated": 1}
    rows, rejected = clean(tmp_path, path)
    assert (len(rows), Counter(row["reason"] for row in rejected)) == (3, lost | {"download_failed": 1})
    stored = crawl(tmp_path, path, "SUMMARY=crawls.jsonl")
    assert stored.returncode == 0, stored.stderr
    summary = json.loads((tmp_path / "crawls.jsonl").read_text())
    assert summary["counters"] == {
        "replay/records": 4,
        "replay/skipped/revisit": 1,
        **{f"replay/lost/{reason}": count for reason, count in lost.items()},
    }
    assert (summary["visits"]["page"], summary["visits"]["download_failed"]) == (3, 1)
    assert f"{path}: the record at byte {len(first + second):,} is lost: bad_header" in stored.stderr
    again = scrapy("reclean", str(path), "--processes", "1", "--format", "json")
    result = json.loads(again.stdout)
    assert (result["pages"], result["unchanged"], result["skipped"]) == (3, 3, {})
    assert "read 4; skipped 1 (revisit 1); lost 3 (bad_header 1, no_address 1, truncated 1)" in again.stderr
    compared = json.loads(scrapy("compare", str(path), "--methods", "default", "--json").stdout)
    assert (compared["totals"]["compared"], compared["totals"]["failures"]) == (3, lost | {"download_failed": 1})


@pytest.mark.parametrize("name", ["a.warc", "saved"])
def test_no_command_ends_well_that_read_nothing(scrapy, tmp_path, name):
    path = tmp_path / name
    if name == "saved":
        path.mkdir()
        (path / "picture.png").write_bytes(b"\x89PNG")
    else:
        path.write_bytes(without_address(good("https://a.example", 1)))
    outcomes = [
        scrapy("crawl", "archive", "-s", f"REPLAY={path}"),
        scrapy("batch", str(path), "--out", "out", "--workers", "1"),
        scrapy("compare", str(path)),
    ]
    assert [finished.returncode for finished in outcomes] == [2, 1, 1], [finished.stderr for finished in outcomes]
    for finished in outcomes:
        assert finished.stderr.strip()


def test_a_page_that_the_archive_shortened_is_read_and_counted(scrapy, tmp_path):
    body = page(1)
    long = (*HTML, ("Content-Length", str(len(body))))
    date = f"{DATE}\r\nWARC-Truncated: length"
    (shortened,) = answer_records("https://a.example/1", body[:400], headers=long, date=date)
    path = tmp_path / "a.warc"
    path.write_bytes(shortened)
    compared = json.loads(scrapy("compare", str(path), "--methods", "default", "--json").stdout)
    assert (compared["totals"]["compared"], compared["records"]["shortened"]) == (1, 1)
    assert len(clean(tmp_path, path)[0]) == 1
