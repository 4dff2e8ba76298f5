"""What ARCHIVE costs a page: CPU and bytes of a request and its response, whose body came plain or compressed.

The pages are those of `make demo`. Each figure is the least of a few rounds: whatever else the machine does only adds.
"""

import argparse
import gzip
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from scrapy import Request
from scrapy.http import Response

from crawler.demo.site import read_replies
from crawler.fetching.archive import ArchiveFile, ArchiveRecords

TYPE = {"Content-Type": "text/html; charset=utf-8"}
PACKED = TYPE | {"Content-Encoding": "gzip"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the fastest counts (default: 5)")
    options = parser.parse_args()
    bodies = [reply.body for reply in read_replies().values() if reply.status == 200]
    packed = [gzip.compress(body) for body in bodies]
    print(f"{len(bodies)} pages, {sum(map(len, bodies)) / len(bodies):,.0f} bytes on average")
    for name, headers, sent in (("plain", TYPE, bodies), ("compressed", PACKED, packed)):
        seconds, size = min(measure(sent, headers) for _ in range(options.rounds))
        print(f"{name:10} {seconds / len(sent) * 1000:.2f} ms of CPU and {size / len(sent):,.0f} bytes a page")
    return 0


def measure(bodies, headers):
    """Write an archive of these bodies; return the seconds of CPU and the bytes that it took."""
    records = ArchiveRecords("bench.warc.gz", {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.warc.gz"
        with closing(ArchiveFile.open(path)) as file:
            began = time.process_time()
            for number, body in enumerate(bodies):
                url = f"https://bench.example.org/{number}"
                file.append(records.pack(Request(url), Response(url, headers=headers, body=body)))
            return time.process_time() - began, path.stat().st_size


if __name__ == "__main__":
    sys.exit(main())
