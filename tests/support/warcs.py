"""WARC files for tests, the same bytes each time, with pages of made-up words."""

import gzip
import random
from uuid import NAMESPACE_URL, uuid5

WORDS = [
    f"{first}{second}{third}" for first in "bdfglm" for second in ("ana", "ero", "ilu", "osta") for third in "knrst"
]
HTML = (("Content-Type", "text/html; charset=utf-8"),)
DATE = "2026-03-01T12:00:00Z"


def paragraph(seed, words=80):
    """Return a text that depends on a seed: no other paragraph is near it."""
    chosen = random.Random(seed).choices(WORDS, k=words)
    return f"{' '.join(chosen).capitalize()}."


def article(title, *paragraphs):
    body = "".join(f"<p>{text}</p>\n" for text in paragraphs)
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>{title}</title></head><body><article><h1>{title}</h1>\n'
        f"{body}</article></body></html>"
    )


def write_warc(path, answers, *, packed=True):
    """Write answers, each a URL with a body or a dict with the arguments of `answer_records`; return the path."""
    records = []
    for answer in answers:
        fields = answer if isinstance(answer, dict) else {"url": answer[0], "body": answer[1]}
        records += answer_records(**fields)
    path.write_bytes(b"".join(gzip.compress(record, mtime=0) if packed else record for record in records))
    return path


LAKE = {year: f"{word} words of the lake." for year, word in (("1998", "First"), ("2001", "Other"), ("2004", "Last"))}


def captures(url, *years):
    """Return the answers of an address in some of the years of LAKE: an article of which one text differs."""
    return [
        {"url": url, "body": article("Lake", LAKE[year], paragraph(7)), "date": f"{year}-05-01T12:00:00Z"}
        for year in years
    ]


def record_id(url):
    """Return the id of the records of an address."""
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, url)}>"


def answer_records(url, body, status=200, headers=HTML, date=DATE, method=None):
    """Return the record of an answer, and before it that of its request if there is a method."""
    payload = body.encode() if isinstance(body, str) else body
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    block = f"HTTP/1.1 {status} Answer\r\n{head}\r\n".encode() + payload
    answer_id = record_id(url)
    answer = record("response", url, block, date=date, more={"WARC-Record-ID": answer_id})
    if method is None:
        return [answer]
    request = f"{method} / HTTP/1.1\r\nHost: a.example\r\n\r\n".encode()
    return [record("request", url, request, date=date, more={"WARC-Concurrent-To": answer_id}), answer]


def arc_records(answers):
    """Return the records of an ARC file: its own, and one for each URL with its body."""
    about = b"1 0 Example\nURL IP-address Archive-date Content-type Archive-length\n"
    head = f"filedesc://a.arc 0.0.0.0 20260301120000 text/plain {len(about)}\n".encode()
    records = [head + about + b"\n"]
    for url, body in answers:
        (warc_record,) = answer_records(url, body)
        block = warc_record.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n\r\n")
        records.append(f"{url} 192.0.2.1 20260301120000 text/html {len(block)}\n".encode() + block + b"\n")
    return records


def record(kind, url, block, *, date=DATE, media_type=None, more=None):
    """Return a WARC record."""
    stated = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": date,
        "Content-Type": media_type or f"application/http; msgtype={kind}",
        "Content-Length": len(block),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in (stated | (more or {})).items())
    return f"WARC/1.0\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"
