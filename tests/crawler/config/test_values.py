"""The value of a setting: which one counts, and who set it."""

from pathlib import Path

import pytest
from project_settings import make_settings

from crawler.config import Config
from crawler.config.explanation import explain_setting
from crawler.errors import ConfigError


def read(priority="project", **values):
    return Config.read(make_settings(priority, **values))


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
        ("MAX_REFUSED_SHARE", "nan", "takes a number from 0.0 to 1.0"),
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


@pytest.mark.parametrize(
    ("priority", "word"), [("project", "project"), ("spider", "spider"), ("cmdline", "command line")]
)
def test_who_has_set_it_is_named(priority, word):
    setting = explain_setting("DEDUP_SCOPE", make_settings(priority, DEDUP_SCOPE="site"))
    assert (setting.value, setting.set_by) == ("site", word)


def test_the_environment_is_named_where_nothing_else_has_set_it(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "sqlite:///other.db")
    assert explain_setting("database_url", make_settings()).set_by == "environment"
    assert explain_setting("database_url", make_settings(DATABASE_URL="sqlite:///x.db")).set_by == "project"
