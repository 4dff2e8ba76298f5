"""Pages a second of `scrapy batch` on WARC files, beside datatrove with trafilatura and Ray Data with resiliparse.

The records are the pages of the development data, again and again under other URLs, each time with a small edit. The
archive writer of our crawls writes one half of the files, warcio the other. All rows read the same files, one after the
other, each in processes of its own, from the command to the last file written:

ours-N           scrapy batch --near-duplicates --workers N: text, metadata, keys, duplicates, Parquet
ours-ray-N       the same with --engine ray
datatrove-N      WarcReader, Trafilatura and JsonlWriter with N tasks at once; texts only
ray-resiliparse-N  Ray Data on N cores: FastWARC, resiliparse (main_content), Parquet; texts only

    python research/bench/batch.py [--records 20000] [--files 8] [--rows ours-1,ours-2,...] [--folder FOLDER] [--json]

CPU is that of all processes of a row, memory that of its largest process and of all together. The data is found through
BLOCKSIEVE_DATA (default: ../shared/data beside the checkout), the peers are those of the extra `peers`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import tempfile
from contextlib import closing
from dataclasses import asdict
from io import BytesIO
from itertools import islice
from pathlib import Path

from pyarrow import parquet
from rich.console import Console
from rich.table import Table
from scrapy import Request
from scrapy.http import Response
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

sys.path.append(str(Path(__file__).parents[1]))  # programs are run by path

import corpus
import peers
import process_tree

from crawler.fetching.archive import ArchiveFile, ArchiveRecords

ROWS = ("ours-1", "ours-2", "datatrove-1", "datatrove-2", "ray-resiliparse-2")
_HTML = {"Content-Type": "text/html; charset=utf-8"}
# A prime: a few records are a mixture of all sets too.
_STRIDE = 997
_DATE = "2026-03-01T12:00:00Z"
_TEXT_STARTS = re.compile(rb"(<p[ >][^>]*>|<body[^>]*>)", re.IGNORECASE)


def records(count):
    """Yield so many URLs with a page each; a page that comes again has another number in its first paragraph."""
    paths = sorted((corpus.DATA / "extraction").glob("*/html/*.html.gz"))
    if not paths:
        raise SystemExit(f"there are no pages in {corpus.DATA}; set BLOCKSIEVE_DATA")
    for number in range(count):
        turn, place = number // len(paths), number * _STRIDE % len(paths)
        body = gzip.decompress(paths[place].read_bytes())
        yield f"https://site{place % 97}.example/{place}/{turn}", edited(body, turn)


def edited(body, turn):
    return _TEXT_STARTS.sub(lambda match: b"%bEdition %d. " % (match[1], turn), body, count=1) if turn else body


def write_files(folder, count, files):
    """Write the records to WARC files, in turn by our writer and by warcio's."""
    folder.mkdir(parents=True, exist_ok=True)
    response_records = records(count)
    for number in range(files):
        share = list(islice(response_records, count // files + (number < count % files)))
        path = folder / f"{number:03}.warc.gz"
        (write_ours if number % 2 == 0 else write_others)(path, share)
    return folder


def write_ours(path, pages):
    packer = ArchiveRecords(path.name, {})
    with closing(ArchiveFile.open(path)) as file:
        file.append(packer.warcinfo)
        for url, body in pages:
            file.append(packer.pack(Request(url), Response(url, headers=_HTML, body=body)))


def write_others(path, pages):
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for url, body in pages:
            head = StatusAndHeaders("200 OK", list(_HTML.items()), protocol="HTTP/1.1")
            dated = {"WARC-Date": _DATE}
            writer.write_record(
                writer.create_warc_record(url, "response", BytesIO(body), http_headers=head, warc_headers_dict=dated)
            )


def run_row(row, folder, out):
    """Run a row in processes of its own; return its pages and characters, and what it took."""
    name, _, workers = row.rpartition("-")
    if name in ("ours", "ours-ray"):
        engine = ["--engine", "ray"] if name == "ours-ray" else []
        command = [sys.executable, "-m", "scrapy", "batch", str(folder), "--out", str(out), "--near-duplicates"]
        command += ["--workers", workers, "--json", "-s", "PROGRESS=off", "-s", "LOG_LEVEL=ERROR", *engine]
        output, taken = process_tree.run(command, SCRAPY_SETTINGS_MODULE="crawler.settings")
        counts = json.loads(output)["counts"]
        rejected = sum(count for name, count in counts.items() if name.startswith("visit/")) - counts["visit/page"]
        return {"pages": counts["stored/pages"], "rejected": rejected} | asdict(taken)
    command = [sys.executable, __file__, "--work", row, "--folder", str(folder), "--out", str(out)]
    _, taken = process_tree.run(command, PYTHONPATH=os.pathsep.join(sys.path))
    return {"pages": count_rows(out)} | asdict(taken)


def work_datatrove(folder, out, workers):
    from datatrove.executor import LocalPipelineExecutor  # noqa: PLC0415 — a peer
    from datatrove.pipeline.extractors import Trafilatura  # noqa: PLC0415 — a peer
    from datatrove.pipeline.readers import WarcReader  # noqa: PLC0415 — a peer
    from datatrove.pipeline.writers import JsonlWriter  # noqa: PLC0415 — a peer

    steps = [
        WarcReader(str(folder), glob_pattern="*.warc.gz"),
        Trafilatura(timeout=30),
        JsonlWriter(str(out / "texts"), compression=None),
    ]
    files = len(list(folder.glob("*.warc.gz")))
    LocalPipelineExecutor(steps, tasks=files, workers=workers, logging_dir=str(out / "log")).run()


def work_ray(folder, out, workers):
    import ray  # noqa: PLC0415 — a peer

    ray.init(address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False)
    paths = sorted(map(str, folder.glob("*.warc.gz")))
    data = ray.data.read_binary_files(paths, override_num_blocks=len(paths))
    data.flat_map(pages_of).map_batches(texts_of, batch_size=100).write_parquet(str(out / "texts"))
    ray.shutdown()


def pages_of(row):
    from fastwarc.warc import ArchiveIterator, WarcRecordType  # noqa: PLC0415 — a peer

    return [
        {"url": record.headers["WARC-Target-URI"], "html": record.reader.read()}
        for record in ArchiveIterator(BytesIO(row["bytes"]), record_types=WarcRecordType.response, parse_http=True)
    ]


def texts_of(batch):
    extract = peers.PEERS["resiliparse"].load()
    return {"url": batch["url"], "text": [peers.attempt(extract, body) for body in batch["html"]]}


def count_rows(out):
    texts = [path for path in (out / "texts").rglob("*") if path.is_file()]
    tables = [parquet.ParquetFile(path).metadata.num_rows for path in texts if path.suffix == ".parquet"]
    lines = [sum(1 for _ in path.open("rb")) for path in texts if path.suffix == ".jsonl"]
    return sum(tables) + sum(lines)


def measure(rows, folder):
    """Return the figures of each row."""
    figures_by_row = {}
    for row in rows:
        with tempfile.TemporaryDirectory() as out:
            figures_by_row[row] = run_row(row, folder, Path(out, "out"))
        figures = figures_by_row[row]
        figures["pages_per_second"] = figures["pages"] / figures["seconds"]
        figures["cpu_ms_a_page"] = 1000 * figures["cpu_seconds"] / figures["pages"]
        print(row, figures, file=sys.stderr)
    return {
        row: {name: round(value, 2) if isinstance(value, float) else value for name, value in figures.items()}
        for row, figures in figures_by_row.items()
    }


def show(rows, count, files):
    columns = {
        "pages": "pages",
        "seconds": "s",
        "pages_per_second": "pages/s",
        "cpu_ms_a_page": "CPU ms a page",
        "largest_mb": "MB, largest process",
        "all_mb": "MB, all",
    }
    table = Table("row", *columns.values(), title=f"{count:,} records in {files} files")
    for row, figures in rows.items():
        table.add_row(row, *(f"{figures[name]:,.1f}".removesuffix(".0") for name in columns))
    Console().print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--rows", default=",".join(ROWS), help=f"default: {','.join(ROWS)}")
    parser.add_argument("--folder", type=Path, help="where the WARC files are, or are written and kept")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        name, _, workers = options.work.rpartition("-")
        return {"datatrove": work_datatrove, "ray-resiliparse": work_ray}[name](
            options.folder, options.out, int(workers)
        )
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary, "archives")
        if not list(folder.glob("*.warc.gz")):
            write_files(folder, options.records, options.files)
        rows = measure(options.rows.split(","), folder)
        files = len(list(folder.glob("*.warc.gz")))
    if options.json:
        print(json.dumps({"records": options.records, "files": files, "rows": rows}, indent=2))
    else:
        show(rows, options.records, files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
