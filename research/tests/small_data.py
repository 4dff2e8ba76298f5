"""A small folder of development data, and the programs run on it."""

import gzip
import json
import os
import sys
from pathlib import Path

import processes

PROGRAMS = Path(__file__).parents[1]
SETS = ("fundus-dev", "wcxb-dev")


def write(folder, hosts=("example.org",), pages=3):
    """Write two sets of so many pages of each host; return the folder."""
    for name in SETS:
        place = folder / "extraction" / name
        (place / "html").mkdir(parents=True)
        numbered = enumerate(host for host in hosts for _ in range(pages))
        rows = [_write_page(place, host, number) for number, host in numbered]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (place / "truth.jsonl").write_text(lines, "utf-8")
    return folder


def write_pool(folder, bodies):
    """Write a pool of pages, given by their ids and the contents of their bodies; return the folder."""
    (folder / "html").mkdir(parents=True, exist_ok=True)
    rows = []
    for name, body in bodies.items():
        path = f"html/{name}.html.gz"
        (folder / path).write_bytes(gzip.compress(f"<title>{name}</title><body>{body}".encode(), mtime=0))
        rows.append({"id": name, "url": f"https://{name}.example/1", "encoding": "utf-8", "html_path": path})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "truth.jsonl").write_text(lines, "utf-8")
    return folder


def _write_page(place, host, number):
    text = f"This is the text of page {number}, and there is enough of it to be taken for prose. " * 4
    body = f"<title>Page {number}</title><body><nav><a href=/>Home</a></nav><article><p>{text}</p></article>"
    path = f"html/{number}.html.gz"
    (place / path).write_bytes(gzip.compress(body.encode(), mtime=0))
    url = f"https://{host}/{number}"
    return {"id": str(number), "url": url, "html_path": path, "text": f"{text}\u2028", "type": "forum"}


def run(program, folder, *arguments):
    """Run a program of research/ with this folder as its data."""
    command = [sys.executable, str(PROGRAMS / program), *map(str, arguments)]
    environment = os.environ | {"BLOCKSIEVE_DATA": str(folder)}
    return processes.run(command, env=environment, capture_output=True, text=True, check=False)
