"""Pictures of the web page and of `make demo`, and what axe-core says of each page.

    python research/pictures.py demo docs/pictures
    python research/pictures.py mine docs/pictures
    python research/pictures.py story docs/pictures
    python research/pictures.py teach docs/pictures
    python research/pictures.py pages FOLDER [--database URL]

`demo` runs the demo in a terminal of its own and writes demo.svg, a recording that moves, and pictures of the web page
over its database. `mine` makes the reports of `scrapy mine` on the demo's pages. `story` shows a made-up news page
beside its blocks, in light and dark. `teach` corrects a page of a made-up site in the browser. All pictures in
docs/pictures come from these four. `pages` takes each page of a database,
at the width of a phone and at 1,400 pixels, in light and dark colours, and writes axe.json with what axe-core finds; it
ends with exit code 1 if a page has one, or does not fit. They need Chromium and the extra `full`.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import axe_playwright_python
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

sys.path += [
    str(Path(__file__).parents[1] / folder) for folder in ("research/bench", "tests/support")
]  # programs are run by path
import taught_site
from web import serving

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
RUN_AXE = "axe.run(document, {iframes: false})"
LOOKS = {
    f"{device}-{colours}": {
        "viewport": {"width": width, "height": height},
        "color_scheme": colours,
        "reduced_motion": "reduce",
    }
    for device, (width, height) in {"phone": (390, 844), "wide": (1_400, 900)}.items()
    for colours in ("light", "dark")
}
WORDS = {"en": "the", "de": "der", "zh": "\u4e2d\u56fd", "ar": "\u0641\u064a"}
COLUMNS, LINE, CHARACTER, EDGE = 100, 19, 8.4, 18
LONGEST_PAUSE = 0.8
COLOURS = {1: "#ff7b72", 2: "#7ee787", 3: "#e3b341", 6: "#79c0ff"}  # by the numbers of a terminal
STYLE = """text{font:14px/1 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
text{fill:#d5dae1;white-space:pre}
.b{font-weight:700;fill:#fff}
.while{opacity:0}
@media (prefers-reduced-motion:no-preference){.from{opacity:0;animation:show 0s linear var(--t) forwards}
.while{animation:show 0s linear var(--t) forwards,hide 0s linear var(--u) forwards}}
@keyframes show{to{opacity:1}}
@keyframes hide{to{opacity:0}}"""


@dataclass(frozen=True)
class Line:
    """A line of a terminal, when it appeared, and when another took its place."""

    row: int
    text: str
    begins: float
    ends: float | None = None


def record(command, folder):
    """Run a command in a terminal of its own; return what it printed, as pairs of seconds and text."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color"}
    began, read = time.monotonic(), []
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=follower, stderr=follower) as process:
        os.close(follower)
        while chunk := _read(leader):
            read.append((time.monotonic() - began, chunk.decode("utf-8", "replace").replace(str(folder), "~")))
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return read


def _read(leader):
    try:
        return os.read(leader, 65_536)
    except OSError:  # the other end is closed
        return b""


def lines_of(printed):
    """Return the lines of a recording; one that is written over ends when the next begins, and long pauses are cut."""
    lines, row, text, now, last = [Line(0, "$ make demo", 0.0)], 1, "", 0.6, 0.0
    for seconds, chunk in printed:
        now, last = now + min(seconds - last, LONGEST_PAUSE), seconds
        for part in re.split(r"(\r\n|\r\x1b\[2K)", re.sub(r"\x1b\[\?25[lh]", "", chunk)):
            if part == "\r\n":
                row, text = row + 1, ""
            elif part == "\r\x1b[2K":
                text = ""
            elif part:
                text += part
                add(lines, Line(row, text, now))
    return lines


def add(lines, line):
    """Add a line to those of a terminal; the one in its place ends."""
    before = lines[-1]
    if before.row == line.row:
        if before.text == line.text:
            return
        lines[-1:] = [replace(before, ends=line.begins)] if before.begins < line.begins else []
    lines.append(line)


def draw(lines):
    """Return an SVG in which the lines appear as they did in the terminal."""
    width, height = round(COLUMNS * CHARACTER + 2 * EDGE), (lines[-1].row + 1) * LINE + 2 * EDGE
    texts = [_draw_line(line) for line in lines if line.text.strip()]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    title = "<title>make demo in a terminal: it crawls the bundled site and prints what it stored</title>"
    paper = f'<rect width="{width}" height="{height}" rx="10" fill="#161b22"/>'
    return "\n".join([head, title, f"<style>{STYLE}</style>", paper, *texts, "</svg>", ""])


def _draw_line(line):
    kind = "from" if line.ends is None else "while"
    when = f"--t:{line.begins:.2f}s" + ("" if line.ends is None else f";--u:{line.ends:.2f}s")
    text, y = Text.from_ansi(line.text.rstrip()), EDGE + LINE * line.row + 14
    spans = "".join(map(_draw_segment, text.render(Console())))
    length = f'textLength="{text.cell_len * CHARACTER:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text class="{kind}" style="{when}" x="{EDGE}" y="{y}" {length} xml:space="preserve">{spans}</text>'


def _draw_segment(segment):
    text, style = escape(segment.text.rstrip("\n"), quote=False), segment.style
    colour = COLOURS.get(style.color.number) if style and style.color else None
    if colour:
        return f'<tspan style="fill:{colour}">{text}</tspan>'
    return f'<tspan class="b">{text}</tspan>' if style and style.bold else text


@contextmanager
def opened_browser():
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=sandbox)
        try:
            yield browser
        finally:
            browser.close()


def show_demo(folder):
    """Write the recording of the demo and pictures of the web page over its database."""
    with tempfile.TemporaryDirectory(prefix="blocksieve-") as place:
        lines = lines_of(record([sys.executable, "-m", "crawler.demo.run"], Path(place)))
        (folder / "demo.svg").write_text(draw(lines), "utf-8")
        with serving(f"sqlite:///{place}/blocks.db") as (port, _), opened_browser() as browser:
            site = f"http://127.0.0.1:{port}"
            (first_page, *_) = ask(site, "/api/search?q=harbour*+OR+steam*")["pages"]
            paths = {"overview": "/", "search": "/search?q=steam*+OR+heat", "page": f"/pages/{first_page['id']}"}
            page = browser.new_page(viewport={"width": 1_200, "height": 800}, reduced_motion="reduce")
            for name, path in paths.items():
                page.goto(f"{site}{path}")
                page.screenshot(path=folder / f"{name}.png")
            page.goto(f"{site}/pages/{first_page['id']}/original")
            page.frame_locator("iframe").locator("main").wait_for()
            page.screenshot(path=folder / "original.png")


def show_mining(folder):
    """Write pictures of the reports of `scrapy mine` on the pages of the demo."""
    tasks = {"mine-classes": ["classify"], "mine-topics": ["cluster"]}
    with tempfile.TemporaryDirectory(prefix="blocksieve-") as place, opened_browser() as browser:
        subprocess.run([sys.executable, "-m", "crawler.demo.run"], check=True, stdout=subprocess.DEVNULL, cwd=place)
        page = browser.new_page(viewport={"width": 1_200, "height": 900})
        environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
        database = ["-s", f"DATABASE_URL=sqlite:///{place}/blocks.db"]
        for name, task in tasks.items():
            command = [sys.executable, "-m", "scrapy", "mine", *task, "--html", f"{place}/{name}.html", *database]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=place, env=environment)
            page.goto(f"file://{place}/{name}.html")
            page.screenshot(path=folder / f"{name}.png")


def show_teaching(folder):
    """Write pictures of how a page of a made-up site is corrected in the browser, step by step."""
    with tempfile.TemporaryDirectory(prefix="blocksieve-") as place:
        url = f"sqlite:///{place}/blocks.db"
        _crawl_taught_site(Path(place), url)
        token = "a-token-for-the-pictures"
        with serving(url, "--edit", "--token", token) as (port, _), opened_browser() as browser:
            page = browser.new_page(viewport={"width": 1_200, "height": 900}, reduced_motion="reduce")
            page.goto(f"http://127.0.0.1:{port}/edit/pages/1?token={token}")
            page.get_by_label("Subscribers read it free of charge").uncheck()
            page.screenshot(path=folder / "teach-page.png")
            page.get_by_label("Your name").fill("Anna")
            page.get_by_role("button", name="Store").click()
            page.screenshot(path=folder / "teach-preview.png")


def _crawl_taught_site(folder, url):
    rows = ["file\turl"]
    for number in range(2, 14):
        (folder / f"{number}.html").write_text(taught_site.page_html(number), "utf-8")
        rows.append(f"{number}.html\t{taught_site.address(number)}")
    (folder / "index.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "crawl",
        "archive",
        "-s",
        f"REPLAY={folder}",
        "-s",
        f"DATABASE_URL={url}",
    ]
    environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, cwd=folder, env=environment)


STORY = Path(__file__).parents[1] / "docs" / "examples" / "story" / "page.html"
STORY_PAGE = """<!doctype html><meta charset="utf-8"><style>
:root{{--paper:#fff;--ink:#1a1c1f;--line:#c9d0d6}}
@media (prefers-color-scheme:dark){{:root{{--paper:#16191c;--ink:#e8eaed;--line:#3a4147}}}}
body{{margin:0;padding:20px;background:var(--paper);color:var(--ink);font:600 19px/1.3 system-ui,"DejaVu Sans";
display:grid;grid-template-columns:1fr 1fr;gap:10px 24px}}
p{{margin:0}} iframe{{width:100%;height:640px;border:1px solid var(--line);border-radius:8px}}
iframe:first-of-type{{zoom:.8;height:800px}}
</style><p>A page</p><p>What Blocksieve keeps of it (green), and why it drops the rest</p>
<iframe src="{page}"></iframe><iframe src="{explanation}"></iframe>"""


def show_story(folder):
    """Write pictures of a page beside the explanation of its blocks."""
    with tempfile.TemporaryDirectory(prefix="blocksieve-") as place, opened_browser() as browser:
        explanation = Path(place) / "explanation.html"
        command = [sys.executable, "-m", "scrapy", "explain", str(STORY), "--html", str(explanation)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=STORY.parents[3])
        beside = Path(place) / "story.html"
        beside.write_text(STORY_PAGE.format(page=STORY.as_uri(), explanation=explanation.as_uri()), "utf-8")
        for colours in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1_400, "height": 710}, color_scheme=colours)
            page.goto(beside.as_uri(), wait_until="load")
            page.frames[-1].locator("#block-0").evaluate("block => block.scrollIntoView()")
            page.screenshot(path=folder / f"story-{colours}.png")
            page.close()


def show_pages(folder, url):
    """Write a picture of each page in each look, and axe.json; return how many findings there are."""
    report = []
    with serving(url) as (port, _), opened_browser() as browser:
        site = f"http://127.0.0.1:{port}"
        paths = choose_paths(site)
        for look, options in LOOKS.items():
            page = browser.new_page(**options)
            for name, path in paths.items():
                page.goto(f"{site}{path}", wait_until="load")
                if "#" in path or "methods" in path:
                    page.frame_locator("iframe").first.locator("main").wait_for()
                page.screenshot(path=folder / f"{name}.{look}.png", full_page="#" not in path)
                report.append({"page": name, "path": path, "look": look, **examine(page)})
            page.close()
    (folder / "axe.json").write_text(json.dumps(report, indent=1), "utf-8")
    return report


def examine(page):
    """Return what axe-core finds on a page, how many rules passed, and how many pixels the page is too wide."""
    page.evaluate(AXE)
    report = page.evaluate(RUN_AXE)
    violations = [
        {"rule": violation["id"], "impact": violation["impact"], "nodes": [node["html"] for node in violation["nodes"]]}
        for violation in report["violations"]
    ]
    too_wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    engine = report["testEngine"]["version"]
    return {"axe": engine, "violations": violations, "passes": len(report["passes"]), "too_wide": max(0, too_wide)}


SHOWS = {"demo": show_demo, "mine": show_mining, "story": show_story, "teach": show_teaching}


def choose_paths(site):
    """Return the paths of a database that are worth a picture, by name."""
    paths = {
        "overview": "/",
        "nothing-here": "/nowhere",
        "nothing-found": "/search?q=zzyzx",
        "malformed": "/search?q=%22",
    }
    paths |= {
        name: f"/{name}"
        for name in ("sites", "search", "families", "failures", "schedule", "settings", "crawls", "changes", "copies")
    }
    if crawls := ask(site, "/api/crawls")["crawls"]:
        paths["crawl"] = f"/crawls/{crawls[0]['id']}"
    if pairs := ask(site, "/api/copies")["pairs"]:
        between = f"/copies/{pairs[0]['original']}/{pairs[0]['site']}"
        pair = ask(site, f"/api{between}")["copies"][0]
        paths |= {
            "copies-of-site": between,
            "beside": f"/pages/{pair['copy']['id']}/beside/{pair['original']['id']}",
        }
    for language, word in WORDS.items():
        query = urlencode({"q": word, "language": language})
        if pages := ask(site, f"/api/search?{query}")["pages"]:
            number = pages[0]["id"]
            paths |= {
                f"search-{language}": f"/search?{query}",
                f"page-{language}": f"/pages/{number}",
                f"original-{language}": f"/pages/{number}/original",
                f"changes-{language}": f"/pages/{number}/changes",
                f"duplicates-{language}": f"/pages/{number}/duplicates",
                f"metadata-{language}": f"/pages/{number}/metadata",
                f"methods-{language}": f"/pages/{number}/methods?other=pab",
                f"site-{language}": f"/sites/{pages[0]['site']}",
            }
    if repeated := ask(site, "/api/families")["blocks"]:
        paths["block"] = f"/blocks/{repeated[0]['block']}"
    return paths


def ask(site, path):
    with urlopen(f"{site}{path}") as answer:
        return json.load(answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=(*SHOWS, "pages"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--database", default="sqlite:///blocks.db", metavar="URL", help="default: blocks.db")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what != "pages":
        SHOWS[options.what](options.folder)
        return
    report = show_pages(options.folder, options.database)
    bad = [picture for picture in report if picture["violations"] or picture["too_wide"]]
    print(
        f"{len(report)} pictures in {options.folder}; axe-core finds something, or the page is too wide, on {len(bad)}"
    )
    for picture in bad:
        rules = [violation["rule"] for violation in picture["violations"]]
        print(f"{picture['path']}, {picture['look']}: {picture['too_wide']} px, {rules}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
