"""`scrapy explain`: mostly in this process, as a `scrapy` of its own takes a second and a half to start."""

import gzip
import io
import json
import re
import subprocess
import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from lxml import html as lxml_html
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from sqlalchemy import text, update

from cleaning import Metadata, clean, parse
from cleaning.page_fingerprint import Fingerprinter
from crawler import settings as settings_
from crawler.commands.explain import ExplainCommand
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.store import Store
from crawler.storage.tables import page
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

URL = "https://a.example/river"
MIRROR = "https://b.example/river"
HURRY = ["-s", "ALLOW_ADDRESSES=127.0.0.0/8", "-s", "AUTOTHROTTLE_ENABLED=0", "-s", "RETRY_TIMES=0"]
NO_PROXY = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), "")
ARTICLE = """<!doctype html><title>The river</title>
<div class="nav"><a href="/a">Home</a> <a href="/b">News</a></div>
<h1>The river rose</h1><p>The river rose in the night, and the bridge at the mill was closed, said the mayor, who had
looked at it twice before breakfast with an engineer, two firemen, a dog and the old ferryman of the upper town;
children stood along the wet quay, counting barrels, planks and drowned pumpkins.</p>
<p>Nobody was hurt, but the market of the town, which is held every week, did not take place.</p>"""


@pytest.fixture
def explain(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder: exit code, output and errors, a usage error as its sentence and code 2."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, **values):
        settings = Settings()
        settings.setmodule(settings_, priority="project")
        settings.setdict(values, priority="cmdline")
        command = ExplainCommand()
        parser = ArgumentParser(conflict_handler="resolve")
        command.settings = settings
        command.add_options(parser)
        opts, args = parser.parse_known_args(arguments)
        try:
            command.process_options(args, opts)
            command.run(args, opts)
        except UsageError as error:
            return SimpleNamespace(code=2, out="", err=str(error))
        out, err = capsys.readouterr()
        return SimpleNamespace(code=command.exitcode, out=out, err=err)

    return run


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(ARTICLE, "utf-8")
    return path


@pytest.fixture
def database(tmp_path):
    """A database with the article, and the same on another site; its engine."""
    with opened_engine(f"sqlite:///{tmp_path / 'blocks.db'}") as engine:
        schema.prepare_schema(engine)
        store = Store(engine)
        store.save(store.begin_crawl("test", {}), [visit(URL), visit(MIRROR)])
        yield engine


def visit(url):
    body = ARTICLE.encode()
    fetched = FetchedPage(url, body, parse(body, url), Metadata())
    cleaned = clean(body, url)
    keys = Fingerprinter().fingerprint(cleaned.decisions)
    page = ProcessedPage(fetched, cleaned, keys.blocks, keys.fingerprint)
    return Visit(url, datetime(2024, 5, 1, 12, tzinfo=UTC), Outcome.PAGE, 200, page=page)


def blocks(done):
    return json.loads(done.out)["blocks"]


def test_a_file_is_explained(explain, saved):
    done = explain("page.html")
    assert (done.code, done.err) == (0, "")
    assert "default; a saved page" in done.out
    assert re.search(r"^ +2 \+ kept .* paragraph +The river rose", done.out, re.MULTILINE)


def test_json_has_every_block_and_the_counts(explain, saved):
    done = explain("page.html", "--json", "--url", URL)
    record = json.loads(done.out)
    assert (record["url"], record["origin"], record["method"], record["stored"]) == (URL, "file", "default", None)
    assert sum(reason["blocks"] for reason in record["reasons"].values()) == len(record["blocks"])
    assert [block["reason"] for block in record["blocks"]] == [d.reason for d in clean(ARTICLE, URL).decisions]
    assert record["blocks"][2].keys() >= {"score", "priority", "kind", "path", "text", "repeats", "stored"}


def test_a_stored_page_is_read_from_the_database_and_says_what_it_repeats(explain, database):
    done = explain(MIRROR, "--json")
    record = json.loads(done.out)
    assert (record["origin"], record["encoding"], record["stored"]["not_kept_now"]) == ("stored", "utf-8", 0)
    long = next(block for block in record["blocks"] if "ferryman" in block["text"])
    assert (long["stored"]["duplicate"], long["stored"]["url"]) == (True, URL)
    assert record["stored"]["near_duplicate_of"] == {"url": URL, "distance": 0}
    lines = explain(MIRROR).out
    assert f"duplicate of stored block {long['stored']['block']} of {URL}" in lines
    assert (
        f"stored, last seen 2024-05-01 12:00 UTC; cleaned again from its stored HTML; near-duplicate of {URL} (0 bits)"
        in lines
    )


def test_the_method_of_the_page_is_its_crawl_s_unless_another_is_named(explain, database):
    with database.begin() as connection:
        connection.execute(update(page).values(method="eniw"))
    assert json.loads(explain(URL, "--json").out)["method"] == "eniw"
    done = explain(URL, "--method", "default")
    assert "its crawl used the method eniw" in done.out


def test_a_page_that_would_be_kept_otherwise_now_says_so(explain, database):
    with database.begin() as connection:
        connection.execute(text("UPDATE block SET text = 'something else' WHERE page_id = 1 AND text LIKE 'Nobody%'"))
    assert "1 stored texts are not kept, 1 kept blocks are not stored" in explain(URL).out


def test_the_main_text_is_written_as_markdown(explain, saved, tmp_path):
    assert explain("page.html", "--url", URL, "--markdown", "out.md").code == 0
    assert (tmp_path / "out.md").read_text("utf-8") == clean(saved.read_bytes(), URL).markdown != ""
    assert "no folder" in explain("page.html", "--markdown", "no/out.md").err


def test_a_page_is_written_as_html(explain, database, tmp_path):
    assert explain(MIRROR, "--html", "out.html").code == 0
    tree = lxml_html.parse(tmp_path / "out.html").getroot()
    assert tree.xpath("//a/@href") == [MIRROR]
    (long,) = tree.xpath("//span[contains(text(), 'ferryman')]")
    assert re.search(rf"duplicate of stored block \d of {URL}$", long.get("data-why"))
    assert explain(MIRROR, "--html", "out.html").code == 0
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("blocks.db")) == ["out.html"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name one page"),
        (["a", "b"], "name one page"),
        (["page.html", "--method", "defualt"], "did you mean 'default'"),
        (["page.html", "--metod=x"], "unknown option: --metod=x"),
        (["page.html", "--option", "favor=recall"], "did you mean 'favour'"),
        (["page.html", "--option", "favour"], "is not NAME=VALUE"),
        (["page.html", "--markdown", "page.html"], "its name must end in .md"),
        (["page.html", "--limit", "0"], "--limit is 0; it must be 1 or more"),
    ],
)
def test_wrong_usage_is_2(explain, saved, arguments, says):
    done = explain(*arguments)
    assert done.code == 2
    assert says in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["absent.html"], "there is no file or folder 'absent.html'"),
        ([".", "--json"], "may hold many pages"),
        (["paper.pdf"], "paper.pdf: the page starts with b'%PDF-1.4': not a text format"),
        (["nothing.html"], "nothing.html: there is nothing to explain: no element and no text"),
        (["damaged.html.gz"], "damaged.html.gz: damaged_file"),
        (["page.html", "--method", "ce"], "needs the page's template"),
        (["page.html", "--option", "max_bytes=1000", "--html", "big.html"], "more than"),
        (["page.html", "--html", "page.html"], "it is not overwritten"),
        (["page.html", "--html", "absent/out.html"], "there is no folder 'absent'"),
        (["page.html", "--html", "/dev/full"], "it is not overwritten"),
        (["page.html", "--html", "/proc/out.html"], "cannot write '/proc/out.html'"),
        (["https://a.example/", "--url", URL], "this one has its own"),
    ],
)
def test_what_cannot_be_explained_is_one_sentence_and_1(explain, saved, tmp_path, arguments, says):
    saved.write_text(ARTICLE + "<p>And so on." * 100, "utf-8")
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.4\n1 0 obj")
    (tmp_path / "nothing.html").touch()
    (tmp_path / "damaged.html.gz").write_bytes(gzip.compress(b"<p>words")[:-4])
    done = explain(*arguments)
    assert (done.code, done.out) == (1, "")
    (line,) = done.err.splitlines()
    assert says in line


# The alarm may ring in a callback of garbage collection, where Python ignores it. It rings again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_page_that_takes_too_long_is_one_sentence_and_1(explain, saved):
    saved.write_text(ARTICLE + "".join(f"<p>And so on, said number {n}." for n in range(200_000)), "utf-8")
    done = explain("page.html", CLEANING_SECONDS=0.05)
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("page.html: it takes more than 0.05 seconds (setting CLEANING_SECONDS)\n")


def test_a_database_of_another_schema_is_one_sentence(explain, database):
    with database.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    done = explain(URL)
    assert (done.code, done.out) == (1, "")
    (line,) = done.err.splitlines()
    assert "install the newer version" in line
    assert "--fetch explains the page as its site gives it now" in line


def test_standard_input_is_a_page(explain, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ARTICLE.encode())))
    done = explain("-", "--json")
    assert json.loads(done.out)["name"] == "standard input"


def test_options_of_cleaning_are_taken(explain, saved):
    assert not any(
        block["kept"]
        for block in blocks(explain("page.html", "--json", "--method", "econ", "--option", "econ_min_marks=99"))
    )
    assert any(block["kept"] for block in blocks(explain("page.html", "--json", "--method", "econ")))


def test_an_address_that_is_not_stored_is_fetched_by_its_rules(scrapy, serve, answer, tmp_path):
    site, requests = serve({"/robots.txt": answer(""), "/page": answer(ARTICLE)})
    done = scrapy("explain", f"{site}/page", *HURRY, **NO_PROXY)
    assert (done.returncode, done.stderr) == (0, "")
    assert "default; fetched now; not stored" in done.stdout
    assert [path for path, _ in requests] == ["/robots.txt", "/page"]
    assert list(tmp_path.iterdir()) == []


def test_a_stored_page_without_html_is_fetched_and_its_blocks_are_known(scrapy, serve, answer, database):
    site, _ = serve({"/robots.txt": answer(""), "/page": answer(ARTICLE)})
    store = Store(database)
    store.save(store.begin_crawl("again", {}), [visit(f"{site}/page")])
    with database.begin() as connection:
        connection.execute(update(page).values(html=None))
    done = scrapy("explain", f"{site}/page", "--json", *HURRY, **NO_PROXY)
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert (record["origin"], record["stored"]["html_kept"]) == ("fetched", False)
    assert all(block["stored"] for block in record["blocks"] if block["kept"])


@pytest.mark.parametrize("command", [["explain"], ["correct", "--sheet", "sheet.txt"]])
def test_what_cannot_be_read_again_says_why_its_html_is_missing(scrapy, serve, answer, database, command):
    site, _ = serve({"/robots.txt": answer("User-agent: *\nDisallow: /"), "/page": answer(ARTICLE)})
    store = Store(database)
    store.save(store.begin_crawl("again", {}), [visit(f"{site}/page")])
    with database.begin() as connection:
        connection.execute(update(page).values(html=None))
    name, *options = command
    done = scrapy(name, f"{site}/page", *options, *HURRY, **NO_PROXY)
    assert f"{site}/page is stored without its HTML (it says noarchive" in done.stderr
    assert done.stderr.endswith("the site's robots.txt forbids it\n")


def test_a_reader_may_leave_early_and_a_full_disk_is_one_sentence(environment, saved):
    saved.write_text("<p>word</p>" * 3_000, "utf-8")  # more than a pipe holds
    run = f"{sys.executable} -m scrapy explain page.html"
    command = f"set -o pipefail; {run} --limit 9999 | head -c 10; echo $?; {run} --json > /dev/full; echo $?"
    done = subprocess.run(
        command,
        shell=True,
        executable="/bin/bash",
        cwd=saved.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "page.html\n0\n1\n"
    assert done.stderr == "the output cannot be written: No space left on device\n"


def test_vce_is_explained_where_a_browser_is(explain, saved, chromium, temporary):
    record = json.loads(explain("page.html", "--json", "--method", "vce", "-s", f"CHROMIUM={chromium}").out)
    assert record["method"] == "vce"
    assert sum(reason["blocks"] for reason in record["reasons"].values()) == len(record["blocks"])


def test_no_color_turns_colours_off(explain, saved, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32m" in explain("page.html").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in explain("page.html").out
