"""How often the metadata that we read is right, beside other libraries, on pages with known metadata.

    python research/metadata_quality.py [--pages N] [--wrong FIELD] [--newspaper PYTHON] [--json]
    python research/metadata_quality.py --newspaper PYTHON --write docs/methods.md

Titles, authors and dates of a page are chosen by weights that were trained on the pages of other hosts.

An answer is right, wrong, missing, or invented (the gold has none). Titles are compared without case, punctuation and
white space; authors as sets of names, without case and full stops; dates as days. No gold has sections: a section is
right if it agrees with a directory in the page's address, and pages without telling directories do not count.

trafilatura is in the extra `peers`, and brings htmldate. newspaper4k needs python-dateutil 2, older than ours: install
it in an environment of its own, and give that environment's interpreter. The data is found through BLOCKSIEVE_DATA
(default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass
from html import unescape
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import corpus
import report
from rich.console import Console
from rich.table import Table

from cleaning import clean, parse
from cleaning.metadata.page import read_metadata
from research.training import metadata as training

LARGEST_PAGE = 100_000_000
SETS = (*training.SETS, "fundus-dev")
FIELDS = ("title", "author", "published", "section")
VERDICTS = ("right", "wrong", "missing", "invented")
_STRAIGHT = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u2010": "-"}
)
_BETWEEN_NAMES = re.compile(r"\s*[;,&|]\s*(?:and\s+)?|\s+and\s+")
_MIN_DIRECTORY_LETTERS = 3
# Directories that name the kind of page, not its section.
_KINDS = frozenset(
    "article articles articulo artikel clanek story stories post posts page pages thread threads topic topics forum"
    " forums index indexphp html web www content node document documents product products item detail view archive"
    " archives community discussion".split()
)


@dataclass(frozen=True)
class Found:
    """A page's metadata, as the gold or a tool has it: None and empty sets where it has none."""

    title: str | None = None
    author: frozenset[str] = frozenset()
    published: str | None = None
    section: str | frozenset[str] | None = None


class Ours:
    """Our metadata, chosen by the weights of each page's fold."""

    def __init__(self, data):
        self._weights = training.read_fold_weights(data)

    def __call__(self, sample):
        text = clean(sample.body, sample.url, max_bytes=LARGEST_PAGE).text
        page = parse(sample.body, sample.url, max_bytes=LARGEST_PAGE)
        fold = training.fold_of(training.host_of(sample.url, sample.id))
        metadata = read_metadata(page, None, text, self._weights[fold])
        return Found(metadata.title, names(metadata.author), metadata.published, metadata.section)


def htmldates(sample):
    from htmldate import find_date  # noqa: PLC0415 — it may not be there

    return Found(published=find_date(sample.body, url=sample.url, original_date=True))


def trafilaturas(sample):
    from trafilatura import extract_metadata  # noqa: PLC0415 — it may not be there

    metadata = extract_metadata(sample.body, default_url=sample.url)
    if metadata is None:
        return Found()
    return Found(metadata.title, names(metadata.author), metadata.date, next(iter(metadata.categories or ()), None))


class Newspaper:
    """newspaper4k in another interpreter, which answers line by line."""

    def __init__(self, python):
        program = Path(__file__).with_name("newspaper_answers.py")
        command = [python, "-W", "ignore", str(program)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self._answer()["version"]

    def __call__(self, sample):
        self._process.stdin.write(json.dumps({"path": str(sample.path), "url": sample.url}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        authors = names("; ".join(answer.get("authors", ())))
        return Found(answer.get("title"), authors, answer.get("published"), answer.get("section"))

    def close(self):
        self._process.communicate()

    def _answer(self):
        return json.loads(self._process.stdout.readline())


def gold(truth):
    date = (truth.get("date") or "")[:10] or None
    return Found(truth.get("title"), names(truth.get("author")), date, directories(truth.get("url")))


# The fields of a tool that does not read all of them.
ONLY = {"htmldate": ("published",)}


def names(text):
    """Return the names in a text, as they are compared."""
    plain = unicodedata.normalize("NFKC", unescape(text or "")).translate(_STRAIGHT).casefold().replace(".", " ")
    return frozenset(" ".join(name.split()) for name in _BETWEEN_NAMES.split(plain) if name.strip())


def directories(url):
    """Return the letters of the directories in an address that can name a section."""
    parts = (letters(unquote(part)) for part in urlsplit(url or "").path.split("/")[1:-1])
    return frozenset(
        part for part in parts if len(part) >= _MIN_DIRECTORY_LETTERS and not part.isdigit() and part not in _KINDS
    )


def letters(text):
    """Return the letters and digits of a text, without case and accents, ü as ue and u alike."""
    plain = unicodedata.normalize("NFKC", unescape(text or "")).translate(_STRAIGHT).casefold()
    bare = "".join(char for char in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(char))
    return re.sub(r"[\W_]+", "", re.sub("([aou])e", r"\1", bare))


def judge(field, answer, gold_value):
    """Return the verdict on an answer; None for none where none is wanted, and for a section that cannot be judged."""
    if field == "section" and not gold_value:
        return None
    if not gold_value:
        return "invented" if answer else None
    if not answer:
        return "missing"
    return "right" if _agree(field, answer, gold_value) else "wrong"


def _agree(field, answer, gold_value):
    if field == "title":
        return letters(answer) == letters(gold_value)
    if field == "section":
        plain = letters(answer)
        return len(plain) >= _MIN_DIRECTORY_LETTERS and any(plain in part or part in plain for part in gold_value)
    return answer == gold_value


def read_truths(name):
    """Return the gold lines of a data set by the ids of their pages: its notes, if it has some."""
    folder = corpus.DATA / "extraction" / name
    notes = folder / "metadata.jsonl"
    with (notes if notes.exists() else folder / "truth.jsonl").open(encoding="utf-8") as lines:
        return {truth["id"]: truth for truth in map(json.loads, lines)}


def measure(name, samples, tools, wrong=None):
    """Return the counts of verdicts by field and tool; prints ours that are not right."""
    truths = read_truths(name)
    counts = {field: {tool: Counter() for tool in tools if field in ONLY.get(tool, FIELDS)} for field in FIELDS}
    for sample in (sample for sample in samples if sample.id in truths):
        gold_values = gold(truths[sample.id])
        for tool, read in tools.items():
            answer = read(sample)
            for field in ONLY.get(tool, FIELDS):
                verdict = judge(field, getattr(answer, field), getattr(gold_values, field))
                counts[field][tool].update(() if verdict is None else (verdict,))
                if tool == "ours" and field == wrong and verdict not in {None, "right"}:
                    answers = f"  found  {getattr(answer, field)}\n  wanted {getattr(gold_values, field)}"
                    print(f"{verdict} {sample.id} {sample.url}\n{answers}")
    return {field: of for field, of in counts.items() if any(count["right"] for count in of.values())}


def known(count):
    """Return of how many pages the gold has the field."""
    return sum(count[verdict] for verdict in VERDICTS[:3])


def as_markdown(results):
    """Return a row for each field of each data set: how often each tool is right, and how often it is wrong."""
    tools = dict.fromkeys(tool for rows in results.values() for of in rows.values() for tool in of)
    lines = [["field", "data", "pages", *tools], ["---"] * (3 + len(tools))]
    for field in FIELDS:
        for name, rows in results.items():
            if of := rows.get(field):
                cells = [f"{of[tool]['right']}, {_wrong(field, of[tool])}" if tool in of else "" for tool in tools]
                lines.append([field, name, str(known(next(iter(of.values())))), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _wrong(field, count):
    return count["wrong"] + (count["invented"] if field != "section" else 0)


def main():
    options = _arguments()
    tools = {"ours": Ours(corpus.DATA)}
    versions = []
    if find_spec("trafilatura") and not options.wrong:
        tools["trafilatura"] = trafilaturas
        tools["htmldate"] = htmldates
        versions += [f"trafilatura {version('trafilatura')}", f"htmldate {version('htmldate')}"]
    if options.newspaper and not options.wrong:
        tools["newspaper4k"] = Newspaper(options.newspaper)
        versions.append(f"newspaper4k {tools['newspaper4k'].version}")
    results = {}
    for name in SETS:
        samples = corpus.pin(corpus.read_samples(name), options.pages)
        results[name] = measure(name, samples, tools, options.wrong)
        print(f"{name}: {len(samples)} pages", file=sys.stderr)
    if options.newspaper and not options.wrong:
        tools["newspaper4k"].close()
    if options.write:
        table = as_markdown(results)
        report.put(options.write, "metadata_quality.py", f"{table}\n\nVersions: {', '.join(versions)}.")
    elif options.json:
        print(json.dumps(results, indent=2))
    else:
        _show(results)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, help="a pinned sample of so many pages of each data set")
    parser.add_argument("--wrong", choices=FIELDS, help="print the pages where this field of ours is not right")
    parser.add_argument("--newspaper", metavar="PYTHON", help="an interpreter that has newspaper4k")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    if not corpus.DATA.exists():
        parser.error(f"there is no data at {corpus.DATA}; set BLOCKSIEVE_DATA")
    return options


def _show(results):
    for name, rows in results.items():
        table = Table("field", "tool", "of", *VERDICTS, title=name)
        for field, of in rows.items():
            for tool, count in of.items():
                table.add_row(field, tool, str(known(count)), *(str(count[verdict]) for verdict in VERDICTS))
        Console().print(table)


if __name__ == "__main__":
    main()
