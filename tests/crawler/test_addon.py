"""The add-ons check settings, complete the User-Agent, switch to replay and serve host projects."""

import re
import tomllib
from pathlib import Path

import pytest
from scrapy.settings import Settings

import crawler.settings
from crawler.addon import Blocksieve, Cleaning
from crawler.cleaning_middleware import CleaningMiddleware
from crawler.errors import ConfigError, ReplayError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings():
    new_settings = Settings()
    new_settings.setmodule(crawler.settings)
    return new_settings


def updated(settings, **values):
    for name, value in values.items():
        settings.set(name, value, priority="cmdline")
    addon = Blocksieve()
    addon.update_settings(settings)
    return addon


def test_the_user_agent_names_the_project_its_version_and_the_contact(settings):
    updated(settings, CONTACT="mailto:crawler@example.org")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert settings["USER_AGENT"] == f"blocksieve/{version} (+mailto:crawler@example.org)"


def test_without_contact_the_user_agent_is_the_project_alone(settings):
    updated(settings)
    assert re.fullmatch(r"blocksieve/[\d.]+", settings["USER_AGENT"])


def test_the_contact_is_added_to_the_project_s_own_user_agent(settings):
    updated(settings, USER_AGENT="digger/2", CONTACT="https://example.org/bot")
    assert settings["USER_AGENT"] == "digger/2 (+https://example.org/bot)"


@pytest.mark.parametrize("contact", ["a@b.example\r\nX-Evil: 1", "a (b)", "straße@example.org"])
def test_a_contact_that_would_break_the_header_is_rejected(settings, contact):
    with pytest.raises(ConfigError, match="CONTACT"):
        updated(settings, CONTACT=contact)


def test_an_invalid_setting_raises(settings):
    with pytest.raises(ConfigError, match="DEDUP_SCOPE"):
        updated(settings, DEDUP_SCOPE="sites")


def test_a_replay_serves_both_schemes_without_delay(settings, tmp_path):
    (tmp_path / "index.tsv").write_text("file\na.html\n", "utf-8")
    addon = updated(settings, REPLAY=str(tmp_path), DOWNLOAD_DELAY="3", AUTOTHROTTLE_ENABLED="1")
    handlers = settings.getdict("DOWNLOAD_HANDLERS")
    assert handlers["http"] == handlers["https"] == "crawler.fetching.replay.ReplayHandler"
    assert not settings.getbool("AUTOTHROTTLE_ENABLED")
    assert settings.getfloat("DOWNLOAD_DELAY") == 0
    assert addon.context.replay.urls() == ["https://replay.invalid/a.html"]


def test_a_replay_that_cannot_be_opened_raises(settings, tmp_path):
    with pytest.raises(ReplayError, match="nowhere"):
        updated(settings, REPLAY=str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"REPLAY": "{folder}"}, "with REPLAY nothing is fetched"),
        ({"HTTPCACHE_ENABLED": True}, "HTTPCACHE_ENABLED serves pages that are not fetched"),
        ({"DOWNLOAD_HANDLERS": {"https": "crawler.fetching.replay.ReplayHandler"}}, "for https"),
    ],
)
def test_an_archive_that_would_be_incomplete_is_rejected(settings, tmp_path, values, says):
    (tmp_path / "index.tsv").write_text("file\na.html\n", "utf-8")
    options = {name: value.format(folder=tmp_path) if name == "REPLAY" else value for name, value in values.items()}
    with pytest.raises(ConfigError, match=says):
        updated(settings, ARCHIVE="crawl.warc.gz", **options)


def test_a_page_limit_above_the_download_limit_raises_that_too(settings):
    updated(settings, PAGE_MAX_BYTES=500_000_000)
    assert settings.getint("DOWNLOAD_MAXSIZE") == 500_000_000


def test_a_component_table_from_the_command_line_is_unchanged(settings):
    updated(settings, ITEM_PIPELINES="{}")
    assert settings.getdict("ITEM_PIPELINES") == {}


def test_a_host_project_gets_our_components_and_keeps_its_choices():
    theirs = Settings({"ITEM_PIPELINES": {"pipelines.store.StorePipeline": None}})
    updated(theirs)
    pipelines = {str(getattr(key, "__name__", key)): order for key, order in theirs.getdict("ITEM_PIPELINES").items()}
    assert pipelines == {"pipelines.store.StorePipeline": None, "CleanPipeline": -300, "DedupPipeline": -200}
    assert [key.__name__ for key in theirs.getdict("SPIDER_MIDDLEWARES")] == ["VisitMiddleware"]
    assert theirs["DOWNLOADER"] == "crawler.fetching.throttling.Downloader"


def guest(**values):
    theirs = Settings(values)
    Cleaning().update_settings(theirs)
    return theirs


def test_cleaning_only_adds_one_middleware_to_a_project():
    before = Settings()
    after = guest()
    changed = [name for name in after if after[name] != before[name]]
    assert changed == ["DOWNLOADER_MIDDLEWARES"]
    assert after.getdict("DOWNLOADER_MIDDLEWARES") == {CleaningMiddleware: 10}


def test_a_project_may_move_the_middleware_or_switch_it_off():
    for order in (700, None):
        path = "crawler.cleaning_middleware.CleaningMiddleware"
        assert guest(DOWNLOADER_MIDDLEWARES={path: order}).getdict("DOWNLOADER_MIDDLEWARES") == {path: order}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"PAGES_FROM": "("}, r"PAGES_FROM is '\('; .*not a regular expression"),
        ({"PAGES_OF_TYPES": "artikle"}, "did you mean 'article'"),
        ({"BLOCKSIEVE_RENDER": True}, "BLOCKSIEVE_RENDER is True"),
        ({"BLOCKSIEVE_REPLAY": "folder"}, "BLOCKSIEVE_REPLAY is 'folder'"),
        ({"BLOCKSIEVE_ARCHIVE": "a.warc.gz"}, r"BLOCKSIEVE_ARCHIVE is 'a\.warc\.gz'"),
        ({"CLEANING_METHOD": "vce"}, "needs a page's layout"),
        ({"CLEANING_METHOD": "pab"}, "set PAGES_FROM alone"),
        ({"CLEANING_METHOD": "pab", "PAGES_FROM": "/a", "PAGES_OF_TYPES": "forum"}, "set PAGES_FROM alone"),
        ({"ADDONS": {"crawler.addon.Cleaning": 500, "crawler.addon.Blocksieve": 100}}, "remove one of them"),
    ],
)
def test_settings_that_cleaning_cannot_support_are_rejected(values, says):
    with pytest.raises(ConfigError, match=says):
        guest(**values)


def test_other_methods_work_with_pages_from():
    assert CleaningMiddleware in guest(CLEANING_METHOD="pab", PAGES_FROM="/a").getdict("DOWNLOADER_MIDDLEWARES")


@pytest.mark.slow
def test_cookies_need_no_list_from_the_network(crawl, serve, answer):
    headers = {"Content-Type": "text/html", "Set-Cookie": "a=1; Domain=127.0.0.1"}
    site, _ = serve({"/": answer("<a href='/story'>A story that is new</a>", headers=headers)})
    crawled = crawl("section", {"url": f"{site}/"}, {"COOKIES_ENABLED": "1"})
    assert crawled.stats["visit/section"] == 1
    assert "publicsuffix" not in crawled.log
    assert "Traceback" not in crawled.log
