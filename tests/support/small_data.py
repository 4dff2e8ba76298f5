"""A small folder of development data, and the programs run on it."""

import gzip
import json
import os
import sys
from pathlib import Path

import processes

TESTS = Path(__file__).parents[1]
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


MAGIC = ("港口委员会星期一开会，讨论了新桥的计划。", "昨天晚上，镇上没有人见过这些计划，也没有人要求看。")
SNIPPETS = {"with": ["of the new bridge", "is spread over two"], "without": ["Sign in", "the new bridge opens"]}


def write_magic(folder):
    """Write the set of a Chinese forum page; return the folder."""
    first, second = MAGIC
    body = f"<ul><li>首页<li>新闻</ul><h1>新桥</h1><div>{first}</div><div>{second}</div><footer>版权所有</footer>"
    row = {"id": "forum_1", "url": "https://bbs.example/1", "text": f"{first}\n{second}", "type": "forum"}
    return _write_set(folder, "magic-dev", body, row)


def write_snippets(folder):
    """Write the set of a page that has snippets in place of a gold text; return the folder."""
    body = (
        "<h1>The town and the new bridge opens</h1><p>The plans of the new bridge are old.</p>"
        "<p>This sentence is spread</p><p>over two.</p><p>Another text.</p><p>Sign in</p><p>Sign in again</p>"
    )
    return _write_set(folder, "snippets-dev", body, {"id": "s1", "url": "https://two.example/", "text": ""} | SNIPPETS)


def _write_set(folder, name, body, row):
    place = folder / "extraction" / name
    (place / "html").mkdir(parents=True)
    (place / "html" / "1.html.gz").write_bytes(gzip.compress(f"<body>{body}".encode(), mtime=0))
    (place / "truth.jsonl").write_text(json.dumps(row | {"html_path": "html/1.html.gz"}) + "\n", "utf-8")
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


def write_index(folder, site, bodies):
    """Write a pool of a site's pages with an index, given by their file names and contents; return the folder."""
    (folder / site).mkdir(parents=True)
    rows = ["site\tfile\turl\tdeclared_charset\tdecodes_as\ttitle"]
    for name, body in bodies.items():
        (folder / site / name).write_bytes(gzip.compress(body, mtime=0))
        decodes = "gb18030-ok" if body.decode("utf-8", "ignore").encode() != body else "utf8-ok"
        rows.append(f"{site}\t{name}\t\tgbk\t{decodes}\ta title")
    (folder / "index.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


def _write_page(place, host, number):
    text = f"This is the text of page {number}, and there is enough of it to be taken for prose. " * 4
    body = f"<title>Page {number}</title><body><nav><a href=/>Home</a></nav><article><p>{text}</p></article>"
    path = f"html/{number}.html.gz"
    (place / path).write_bytes(gzip.compress(body.encode(), mtime=0))
    url = f"https://{host}/{number}"
    return {"id": str(number), "url": url, "html_path": path, "text": f"{text}\u2028", "type": "forum"}


def run(program, folder, *arguments):
    """Run a program of the tests' folder with this folder as its data."""
    command = [sys.executable, str(TESTS / program), *map(str, arguments)]
    environment = os.environ | {"BLOCKSIEVE_DATA": str(folder)}
    return processes.run(command, env=environment, capture_output=True, text=True, check=False)
