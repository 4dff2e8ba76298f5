"""`scrapy crawl`: one sentence for a mistake, and an exit code for each result."""

import argparse
import json
import os
from pathlib import Path

import pytest
from scrapy.settings import Settings

from cleaning.blocks import Reason
from crawler.commands.crawl import CrawlEntryPoint
from crawler.monitoring.summary import _format_table

LISTING = "".join(
    f'<a href="/news/{n}-a-story-about-the-river">A story about the river {n}</a>' for n in range(10_000, 10_004)
)


def sentences(crawled):
    return [line for line in crawled.log.splitlines() if line.startswith("scrapy crawl: ")]


@pytest.fixture
def section(crawl, serve, answer):
    """Crawl a section whose four articles are answered like this."""

    def run(settings=None, **answered):
        paths = [f"/news/{n}-a-story-about-the-river" for n in range(10_000, 10_004)]
        site, _ = serve({"/": answer(LISTING)} | {path: answer(**answered) for path in paths})
        return crawl("section", {"url": f"{site}/"}, {"AUTOTHROTTLE_MAX_DELAY": 0.001} | (settings or {}))

    return run


def test_a_crawl_that_stored_pages_is_0(section):
    crawled = section(body="<p>The river rose in the night.</p>")
    assert (crawled.code, sentences(crawled)) == (0, [])
    assert crawled.stats["visit/page"] == 4


def test_a_crawl_without_a_page_is_1_and_prints_the_outcomes(section):
    crawled = section(status=404)
    assert crawled.code == 1
    (sentence,) = sentences(crawled)
    assert sentence.startswith("scrapy crawl: no page was stored (section 1, not_found 4); ")
    assert crawled.log.splitlines()[-1] == sentence


def test_a_crawl_in_which_nothing_changed_is_0(section):
    conditions = {"DEFAULT_REQUEST_HEADERS": '{"If-None-Match": "*"}'}
    assert section(conditions, status=304).code == 0


def test_a_crawl_without_revalidation_that_stores_nothing_is_1(section):
    assert section(status=304).code == 1


def test_too_many_refusals_are_1(section):
    crawled = section(status=403)
    assert crawled.code == 1
    (sentence,) = sentences(crawled)
    assert sentence.startswith("scrapy crawl: 4 of 5 visits were refused, more than MAX_REFUSED_SHARE=0.5; ")


def test_the_share_of_refusals_is_a_setting(section):
    crawled = section({"MAX_REFUSED_SHARE": "1"}, status=403)
    (sentence,) = sentences(crawled)
    assert sentence.startswith("scrapy crawl: no page was stored (section 1, forbidden 4); ")


TABLE = """The crawl ended (finished):
  pages         4 (new 4)
  blocks kept   4
  dropped       0
  duplicates    3 (exact 3)
  refused       0
  failed        0
  other visits  1 (section 1)
  counted       section/links 4
  time          """


@pytest.fixture
def stored(tmp_path):
    """Settings of a crawl that stores its pages."""
    pipelines = ("pipelines.clean.CleanPipeline", "pipelines.dedup.DedupPipeline", "pipelines.store.StorePipeline")
    ordered = {"collect.Collect": 0} | {name: order for order, name in enumerate(pipelines, 1)}
    return {"DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}", "ITEM_PIPELINES": json.dumps(ordered)}


def test_the_log_of_a_crawl_fits_on_a_screen(section, stored):
    crawled = section(stored, body="<p>The river rose in the night and fell again in the morning.</p>")
    assert TABLE in crawled.log
    assert len(crawled.log.splitlines()) <= 24


def test_a_long_row_of_the_table_is_wrapped():
    dropped = dict.fromkeys(Reason, 1_234)
    lines = _format_table(
        [("pages", "0"), ("dropped", ", ".join(f"{name} {count:,}" for name, count in dropped.items()))]
    )
    assert len(lines) > 5
    assert all(len(line) <= 120 for line in lines)
    assert {line[:11] for line in lines[2:]} == {" " * 11}


def test_debug_logs_the_details_of_scrapy(section):
    crawled = section({"LOG_LEVEL": "DEBUG"}, body="<p>The river rose in the night.</p>")
    assert "Enabled item pipelines" in crawled.log
    assert "'visit/page': 4" in crawled.log


def test_an_address_that_is_not_public_is_named_in_the_last_line(crawl, serve, answer):
    site, _ = serve({"/": answer(LISTING)})
    crawled = crawl("section", {"url": f"{site}/"}, {"ALLOW_ADDRESSES": ""})
    assert "ALLOW_ADDRESSES=NETWORK" in crawled.log.splitlines()[-1]


def test_http_is_named_where_https_fails(crawl, serve, answer, stored):
    site, _ = serve({"/": answer(LISTING)})
    crawled = crawl("section", {"url": f"{site.replace('http:', 'https:')}/"}, stored | {"RETRY_ENABLED": "0"})
    sentence = crawled.log.splitlines()[-1]
    assert sentence.endswith(": TLS: wrong version number; if the site has no https, ask for it by http://")
    assert "Traceback" not in crawled.log


@pytest.mark.parametrize(
    ("spider", "arguments", "settings", "says"),
    [
        ("sektion", {}, {}, "there is no spider 'sektion'; did you mean 'section'?"),
        ("section", {}, {}, "the spider 'section' needs the argument 'url': Address of the section."),
        ("section", {"ulr": "https://x.example/"}, {}, "has no argument 'ulr'; did you mean 'url'?"),
        ("section", {"url": "x.example"}, {}, "it takes an http or https URL"),
        ("section", {"url": "https://x.example/", "allow": "("}, {}, "it takes a regular expression"),
        ("section", {"url": "https://x.example/", "allow": "a" * 501}, {}, "at most 500 characters"),
        ("section", {"url": "https://x.example/", "pages": "0"}, {}, "a whole number from 1 to 100000"),
        ("section", {"url": "https://x.example/", "since": "31.5.2024"}, {}, "a date like 2024-05-31"),
        (
            "ezine",
            {"category": "Automotive", "categories": "all"},
            {},
            "takes the argument 'category' or 'categories', not both",
        ),
        ("ezine", {"category": "Computer-and-Tecnology"}, {}, "did you mean 'Computers-and-Technology'?"),
        ("ezine", {"category": "Health-and-Fitness:Hair-Los"}, {}, "did you mean 'Health-and-Fitness:Hair-Loss'?"),
        ("archive", {}, {}, "REPLAY is not set"),
        ("archive", {"path": "x"}, {}, "has no argument 'path'"),
        ("archive", {}, {"REPLAY": "/nowhere"}, "'/nowhere', which does not exist"),
        (
            "section",
            {"url": "https://x.example/"},
            {"BLOCKSIEVE_DEDUP_SCOP": "site"},
            "did you mean BLOCKSIEVE_DEDUP_SCOPE",
        ),
        (
            "section",
            {"url": "https://x.example/"},
            {"LOG_LEVEL": "ERR"},
            "LOG_LEVEL is 'ERR'; it takes one of CRITICAL",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_2(crawl, spider, arguments, settings, says):
    crawled = crawl(spider, arguments, settings)
    assert crawled.code == 2, crawled.log
    [sentence] = sentences(crawled)
    assert says in sentence
    assert "Traceback" not in crawled.log
    assert crawled.visits == []


def test_an_error_that_is_not_ours_is_1_with_its_traceback(crawl):
    crawled = crawl("section", {"url": "https://x.example/"}, {"STATS_CLASS": "no.such.Class"})
    assert crawled.code == 1
    assert crawled.log.count("Traceback") == 1
    assert "ModuleNotFoundError" in crawled.log


@pytest.fixture
def entry_point():
    """The command `crawl` as it is found through the installed distribution, with its options."""
    command = CrawlEntryPoint()
    command.settings = Settings()
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    return lambda: command.process_options(["ezine"], parser.parse_args([]))


def test_outside_of_projects_crawl_says_what_to_set(entry_point, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    with pytest.raises(SystemExit, match="2"):
        entry_point()
    assert capsys.readouterr().err.startswith("scrapy crawl: there is no Scrapy project here; set SCRAPY_SETTINGS_MOD")


def test_in_a_project_crawl_checks_nothing_before_the_crawl(entry_point, tmp_path, monkeypatch, capsys):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = theirs.settings\n")
    monkeypatch.chdir(tmp_path)
    entry_point()
    assert capsys.readouterr().err == ""


FROZEN = """
import gc
import sys
from scrapy import signals

class Frozen:
    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        crawler.signals.connect(extension.note, signal=signals.spider_closed)
        return extension

    def note(self):
        print("frozen:", gc.get_freeze_count(), file=sys.stderr)
"""


def test_garbage_collection_leaves_the_objects_of_the_start_alone(crawl, serve, answer, tmp_path):
    (tmp_path / "frozen.py").write_text(FROZEN)
    site, _ = serve({"/": answer(LISTING)})
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])])
    settings = {"EXTENSIONS": '{"frozen.Frozen": 1}', "ITEM_PIPELINES": "{}"}
    crawled = crawl("section", {"url": f"{site}/"}, settings, environment={"PYTHONPATH": paths})
    (count,) = [int(line.split()[1]) for line in crawled.log.splitlines() if line.startswith("frozen:")]
    assert count > 50_000
