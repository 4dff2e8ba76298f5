"""Settings and spider arguments: declared once, checked, explained, documented."""

import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from cleaning.declare import declared_options, integer, option, required, web_url
from crawler.config import (
    CLEANING_SETTINGS,
    DATABASE_SETTINGS,
    PAGE_SETTINGS,
    Config,
    changed_settings,
    command_line_settings,
    config_of,
    themes,
    use_database_settings,
)
from crawler.config.arguments import given_arguments, read_arguments
from crawler.config.explanation import explain_setting, explain_settings
from crawler.errors import ConfigError

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    url: str = required(web_url(), "where to start")
    pages: int = option(3, integer(1, 100_000), "how many")


def settings(priority="project", **values):
    new_settings = Settings()
    new_settings.setdict(values, priority=priority)
    return new_settings


def read(priority="project", **values):
    return Config.read(settings(priority, **values))


def test_defaults_hold_where_nothing_is_set(monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    config = read()
    assert (config.database_url, config.dedup_distance, config.keep_html) == ("sqlite:///blocks.db", 3, True)


def test_the_environment_gives_the_database_and_a_setting_overrides_it(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "sqlite:////tmp/environment.db")
    assert read().database_url == "sqlite:////tmp/environment.db"
    assert read(DATABASE_URL="sqlite:////tmp/setting.db").database_url == "sqlite:////tmp/setting.db"


def test_texts_from_the_command_line_become_their_types():
    config = read("cmdline", KEEP_HTML="false", DEDUP_DISTANCE="2", STORE_BATCH_SECONDS="0.5")
    assert (config.keep_html, config.dedup_distance, config.store_batch_seconds) == (False, 2, 0.5)


def test_values_of_a_settings_module_become_their_types():
    assert read("cmdline", STRUCTURE="yes").page_settings["STRUCTURE"] is True  # re-crawls keep to it
    config = read(KEEP_HTML=0, REVISIT_BUDGET=1e6, STORE_BATCH_SECONDS=2, SUMMARY=Path("out.jsonl"))
    assert (config.keep_html, config.revisit_budget, config.store_batch_seconds) == (False, 1_000_000, 2.0)
    assert config.summary == "out.jsonl"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DEDUP_SCOPE", "sites", "did you mean 'site'"),
        ("DEDUP_DISTANCE", "4", "takes a whole number from 0 to 3"),
        ("DEDUP_DISTANCE", 2.7, "takes a whole number from 0 to 3"),
        ("BOILERPLATE_MIN_SHARE", "nan", "takes a number from 0.0 to 1.0"),
        ("KEEP_HTML", "perhaps", "true or false"),
        ("STORE_BATCH_PAGES", "many", "takes a whole number from 1 to 100"),
        ("CLEANING_METHOD", "defualt", "did you mean 'default'"),
        ("CLEANING_OPTIONS", "{max_bytes", "not JSON"),
        ("CLEANING_OPTIONS", "[1]", "mapping"),
        ("CLEANING_OPTIONS", '{"max_byte": 5000}', "did you mean 'max_bytes'"),
        ("PAGES_FROM", "(", "'\\(' is not a regular expression"),
        ("ALLOW_ADDRESSES", "here", "takes networks and addresses"),
        ("REVISIT_MIN_SECONDS", 9_999_999, "REVISIT_MAX_SECONDS is 2592000.0; the first must not be larger"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(name, value, says):
    with pytest.raises(ConfigError, match=says) as error:
        read(**{name: value})
    assert name in str(error.value)


def test_settings_of_other_components_pass():
    assert read("cmdline", PLAYWRIGHT_BROWSER_TYPE="chromium").dedup_scope == "all"


def test_every_setting_is_declared_once_and_has_help():
    themes = [declared_options(theme) for theme in Config.__bases__]
    assert sum(map(len, themes)) == len(fields(Config))
    assert all(option.help and not option.is_required for theme in themes for option in theme.values())


def test_the_reference_page_is_what_the_declarations_say():
    written = subprocess.run([sys.executable, "-m", "crawler.config"], cwd=ROOT, capture_output=True, check=True)
    page = (ROOT / "docs" / "settings.md").read_bytes()
    assert page == written.stdout, "run: python -m crawler.config > docs/settings.md"


def test_a_setting_has_what_its_declaration_says():
    setting = explain_setting("DEDUP_DISTANCE", settings())
    assert (setting.type, setting.default, setting.low, setting.high, setting.allowed) == (
        "whole number",
        3,
        0,
        3,
        "0 to 3",
    )
    assert setting.help == "Largest number of bits in which the fingerprints of two near-duplicates differ."


def test_all_settings_are_explained_in_the_order_of_their_declaration():
    names = [setting.name.lower() for setting in explain_settings(settings())]
    assert names[:2] == ["database_url", "database_wait_seconds"]
    assert sorted(names) == sorted(field.name for field in fields(Config))


def test_the_default_configuration_has_no_problem(monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    all_settings = explain_settings(settings())
    assert {(setting.set_by, setting.problem) for setting in all_settings} == {("default", None)}
    assert all(setting.value in (setting.default, {}) for setting in all_settings)


@pytest.mark.parametrize(
    ("priority", "word"), [("project", "project"), ("spider", "spider"), ("cmdline", "command line")]
)
def test_who_has_set_it_is_named(priority, word):
    setting = explain_setting("DEDUP_SCOPE", settings(priority, DEDUP_SCOPE="site"))
    assert (setting.value, setting.set_by) == ("site", word)


def test_the_environment_is_named_where_nothing_else_has_set_it(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "sqlite:///other.db")
    assert explain_setting("database_url", settings()).set_by == "environment"
    assert explain_setting("database_url", settings(DATABASE_URL="sqlite:///x.db")).set_by == "project"


def test_texts_are_shown_as_their_values():
    setting = explain_setting("PAGES_OF_TYPES", settings(PAGES_OF_TYPES="article, forum"))
    assert (setting.value, setting.type) == (("article", "forum"), "list of words")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DEDUP_DISTANCE", 9, "from 0 to 3"),
        ("PAGES_FROM", "(", "not a regular expression"),
        ("CLEANING_OPTIONS", '{"max_byte": 5000}', "did you mean 'max_bytes'"),
        ("ALLOW_ADDRESSES", "here", "networks and addresses"),
    ],
)
def test_a_value_that_would_stop_a_crawl_is_shown_with_the_reason(name, value, says):
    setting = explain_setting(name, settings(**{name: value}))
    assert says in setting.problem


def test_one_bad_setting_does_not_hinder_the_explanation_of_others():
    problems = {setting.name: setting.problem for setting in explain_settings(settings(DEDUP_DISTANCE=9))}
    assert [name for name, problem in problems.items() if problem] == ["DEDUP_DISTANCE"]


def test_no_password_is_shown():
    for url in ("postgresql+psycopg://u:secret@host/x", "nonsense://u:secret@host"):
        assert "secret" not in repr(explain_setting("DATABASE_URL", settings(DATABASE_URL=url)))


def test_an_unknown_name_has_the_nearest_named():
    with pytest.raises(ConfigError, match="did you mean 'DEDUP_SCOPE'"):
        explain_setting("dedup_scop", settings())


def test_a_setting_of_scrapys_is_said_to_be_one():
    with pytest.raises(ConfigError, match=r"DOWNLOAD_DELAY is a setting of Scrapy .* it is 7, set by project"):
        explain_setting("DOWNLOAD_DELAY", settings(DOWNLOAD_DELAY=7))


def test_a_secret_of_another_package_stays_one():
    with pytest.raises(ConfigError) as error:
        explain_setting("AWS_SECRET_ACCESS_KEY", settings(AWS_SECRET_ACCESS_KEY="hush"))
    assert "hush" not in str(error.value)


def test_texts_become_values_and_defaults_hold():
    assert read_arguments(Asked, {"url": " https://x.example/a "}, "s") == Asked(url="https://x.example/a", pages=3)
    assert read_arguments(Asked, {"url": "http://x.example", "pages": "12"}, "s").pages == 12


def test_numbers_given_by_programs_will_do():
    assert read_arguments(Asked, {"url": "http://x.example", "pages": 7}, "s").pages == 7


def test_names_of_other_programs_pass():
    assert read_arguments(Asked, {"url": "http://x.example", "_job": "1"}, "s").pages == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "needs the argument 'url': where to start"),
        ({"ur": "x"}, "has no argument 'ur'; did you mean 'url'"),
        ({"url": "ftp://x.example/"}, "http or https"),
        ({"url": "http://"}, "http or https"),
        ({"url": "http://[x"}, "argument 'url'"),
        ({"url": "http://x.example/" + "a" * 3_000}, "at most 2000"),
        ({"url": "http://x.example/", "pages": "-1"}, "from 1 to 100000"),
        ({"url": "http://x.example/", "pages": "9" * 5_000}, "from 1 to 100000"),
        ({"url": "http://x.example/", "pages": "\u00b2"}, "from 1 to 100000"),
    ],
)
def test_a_mistake_is_named(arguments, says):
    with pytest.raises(ConfigError, match=says):
        read_arguments(Asked, arguments, "s")


def test_what_another_program_adds_is_not_given():
    spider = Spider("section", url="https://me:secret@x.example/", pages="2", _job="e86ef20a", _recrawl="1")
    assert given_arguments(spider) == {"url": "https://me:secret@x.example/", "pages": "2", "_recrawl": "1"}


# Themes whose settings decide what is stored, but for these.
STORING_THEMES = {"Database", "Cleaning", "Duplicates and boilerplate", "Directives of pages", "Rendering"}
RUN_SETTINGS = """
DATABASE_URL DATABASE_WAIT_SECONDS STORE_BATCH_PAGES STORE_BATCH_SECONDS CLEANING_PROCESSES CLEANING_SECONDS
RENDER_SECONDS CHROMIUM CHROMIUM_SANDBOX
""".split()


def test_every_setting_that_decides_what_is_stored_is_kept_with_pages_or_by_the_database():
    declared = {name.upper() for theme in themes() if theme.title in STORING_THEMES for name in declared_options(theme)}
    kinds = [PAGE_SETTINGS, DATABASE_SETTINGS, [name for name in RUN_SETTINGS if name in declared]]
    assert declared == set().union(*kinds), "a new setting belongs to PAGE_SETTINGS, or to RUN_SETTINGS in this test"
    assert sum(map(len, kinds)) == len(declared)
    assert set(CLEANING_SETTINGS) < set(PAGE_SETTINGS)


def test_the_database_s_settings_take_the_place_of_defaults_only():
    kept = Config(dedup_scope="site", dedup_distance=1, boilerplate_min_pages=7).database_settings
    plain = settings()
    use_database_settings(plain, kept)
    assert Config.read(plain).database_settings == kept
    assert explain_setting("DEDUP_SCOPE", plain).set_by == "database"
    project = settings(DEDUP_SCOPE="page")
    use_database_settings(project, kept)
    assert (Config.read(project).dedup_scope, Config.read(project).dedup_distance) == ("page", 1)
    profile = settings(PROFILE="pab2015")
    use_database_settings(profile, kept)
    assert (Config.read(profile).dedup_scope, Config.read(profile).dedup_distance) == ("off", 1)


def test_the_command_line_changes_how_a_page_is_read_and_may_end_its_profile():
    stored = read(PROFILE="pab2015").page_settings
    assert changed_settings(stored, command_line_settings(settings("project", CLEANING_METHOD="eniw"))) == {}
    overrides = command_line_settings(settings("cmdline", CLEANING_METHOD="eniw"))
    assert changed_settings(stored, overrides) == {"CLEANING_METHOD": "eniw", "PROFILE": "none"}
    assert changed_settings(stored, command_line_settings(settings("cmdline", CLEANING_METHOD="pab"))) == {}
    other = command_line_settings(settings("cmdline", PROFILE="subtree", STRUCTURE="true"))
    assert changed_settings(stored, other).keys() == {"PROFILE", "CLEANING_METHOD", "CLEANING_OPTIONS", "STRUCTURE"}


def test_the_configuration_of_a_crawl_is_read_once_nothing_can_change_it():
    crawler = Crawler(Spider, {"DEDUP_DISTANCE": "2"})
    assert config_of(crawler).dedup_distance == 2
    crawler.settings.set("DEDUP_DISTANCE", "1", "spider")  # as a spider does in its `from_crawler`
    assert config_of(crawler).dedup_distance == 1
    crawler.settings.freeze()
    assert config_of(crawler) is config_of(crawler)
    assert config_of(crawler).dedup_distance == 1


def test_two_crawls_have_a_configuration_each():
    crawlers = [Crawler(Spider, {"DEDUP_DISTANCE": value}) for value in ("1", "2")]
    for crawler in crawlers:
        crawler.settings.freeze()
    assert [config_of(crawler).dedup_distance for crawler in crawlers] == [1, 2]
