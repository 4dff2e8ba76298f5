"""What README.md and docs/ show: their commands, blocks and links; and a folder with all that the commands ask for."""

import argparse
import json
import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from news_pages import LANGUAGES
from scrapy.cmdline import _get_commands_dict
from scrapy.settings import Settings
from warcs import write_warc

from crawler.settings import COMMANDS_MODULE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CHAPTER = re.compile(r"^## (.*)\n((?:(?!^## ).*\n)*)", re.MULTILINE)
_INDENTED = re.compile(r"^ {4}((?:make|pip|python|scrapy) .+)$", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`((?:make|pip|python|scrapy) [^`\n]+)`")
_NEWS, _EZINE = "https://news.example.org", "https://ezinearticles.com"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and the chapter of the page in which it stands."""

    page: str
    chapter: str
    language: str
    text: str


def blocks(language=None, page=None, chapter=None):
    """Return the fenced blocks, all of them or those of a language, page or chapter."""
    wanted = {"language": language, "page": page, "chapter": chapter}
    return [
        block for block in _blocks() if all(value in {None, getattr(block, name)} for name, value in wanted.items())
    ]


@cache
def _blocks():
    return [
        Block(path.name, title, language, text)
        for path in PAGES
        for title, chapter in _CHAPTER.findall("## \n" + path.read_text("utf-8"))
        for language, text in _FENCED.findall(chapter)
    ]


@cache
def commands():
    """Return the lines of all blocks of commands, each with its page; those with the same words once.

    A line that ends with a backslash goes on in the next one.
    """
    lines = {}
    for block in blocks("shell"):
        for line in filter(None, map(str.strip, block.text.replace("\\\n", " ").splitlines())):
            lines.setdefault(tuple(shlex.split(line, comments=True)), (block.page, line))
    return list(lines.values())


@cache
def mentioned():
    """Return the commands in running text, in tables and in indented lines, each with its page."""
    mentions = []
    for path in PAGES:
        text = _FENCED.sub("", path.read_text("utf-8"))
        mentions += [(path.name, line) for pattern in (_INDENTED, _INLINE) for line in pattern.findall(text)]
    return mentions


@cache
def options_of(verb):
    """Return the options of a `scrapy` command; KeyError for a command that does not exist."""
    parser = argparse.ArgumentParser()
    command_of(verb).add_options(parser)
    return frozenset(parser._option_string_actions)


def command_of(verb):
    """Return a `scrapy` command; KeyError if it does not exist."""
    command = _commands()[verb]
    command.settings = Settings()
    return command


@cache
def _commands():
    return _get_commands_dict(Settings({"COMMANDS_MODULE": COMMANDS_MODULE}), inproject=True)


def pages():
    """Return pages of a news site and of ezinearticles, by address."""
    english, german = LANGUAGES["english"], LANGUAGES["german"]
    slug = "/science/2024/05/0{}/the-bridge-at-the-old-harbour-opens"
    article = "/?The-Bridge-at-the-Old-Harbour&id=4073117"
    stories = {slug.format(1): english.title, slug.format(2): english.title, "/a-story": german.title}
    return {
        f"{_NEWS}/science/": _listing(stories),
        _NEWS + slug.format(1): english.page,
        _NEWS + slug.format(2): english.page.replace("Monday", "Tuesday"),
        f"{_NEWS}/a-story": german.page,
        f"{_NEWS}/essays/": _listing({"/essays/1": "The first essay"}),
        f"{_NEWS}/essays/1": LANGUAGES["russian"].page.replace("<h1>", "<i class=written-by>Ada Quill</i><h1>"),
        f"{_EZINE}/?cat=Computers-and-Technology": _listing({article: english.title}),
        _EZINE + article: english.page.replace('class="article-body"', 'id="article-content"'),
    }


def prepare(folder):
    """Fill a folder with a page, and with those pages for REPLAY, as archives and as a table."""
    saved = folder / "saved-pages"
    saved.mkdir()
    for number, text in enumerate(pages().values()):
        (saved / f"{number}.html").write_text(text, "utf-8")
    rows = [f"{number}.html\t{url}" for number, url in enumerate(pages())]
    (saved / "index.tsv").write_text("\n".join(["file\turl", *rows]) + "\n", "utf-8")
    (folder / "saved").symlink_to("saved-pages")
    (folder / "portals.toml").write_text(next(block.text for block in blocks("toml", "crawl.md")), "utf-8")
    (folder / "page.html").write_text(LANGUAGES["english"].page, "utf-8")
    (folder / "archives").mkdir()
    write_warc(folder / "archives" / "2025.warc.gz", list(pages().items())[:3])
    write_warc(folder / "crawl-2026.warc.gz", list(pages().items())[3:])
    gold = ({"file": f"{number}.html", "text": "A text of the page."} for number in range(len(pages())))
    (folder / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in gold), "utf-8")
    import pyarrow as pa  # noqa: PLC0415 — an extra, and for these commands alone
    from pyarrow import parquet  # noqa: PLC0415

    columns = {"url": list(pages()), "html": list(pages().values())}
    parquet.write_table(pa.table(columns), folder / "pages.parquet")


def _listing(links):
    items = "".join(
        f'<li><a class="essay" href="{path.replace("&", "&amp;")}">{text}</a>' for path, text in links.items()
    )
    return f"<title>A list</title><main><ul>{items}</ul></main>"
