"""Settings: read once, checked, documented."""

from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawler.config import Config
from crawler.errors import ConfigError
from crawler.reference import reference

ROOT = Path(__file__).parents[2]


def read(priority="project", **values):
    settings = Settings()
    settings.setdict(values, priority=priority)
    return Config.read(settings)


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


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DEDUP_SCOPE", "sites", "did you mean 'site'"),
        ("DEDUP_DISTANCE", "4", "between 0 and 3"),
        ("KEEP_HTML", "perhaps", "true or false"),
        ("STORE_BATCH_PAGES", "many", "type int"),
        ("CLEANING_METHOD", "defualt", "did you mean 'default'"),
        ("CLEANING_OPTIONS", "{max_bytes", "not JSON"),
        ("CLEANING_OPTIONS", "[1]", "mapping"),
        ("CLEANING_OPTIONS", '{"max_byte": 5000}', "did you mean 'max_bytes'"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(name, value, says):
    with pytest.raises(ConfigError, match=says) as error:
        read(**{name: value})
    assert name in str(error.value)


def test_a_misspelt_setting_on_the_command_line_names_the_known_one():
    with pytest.raises(ConfigError, match=r"DEDUP_SCOP.*did you mean 'DEDUP_SCOPE'"):
        read("cmdline", DEDUP_SCOP="site")


def test_settings_of_other_components_pass():
    assert read("cmdline", PLAYWRIGHT_BROWSER_TYPE="chromium").dedup_scope == "all"


def test_the_reference_page_is_what_the_declarations_say():
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert page == reference(), "run: python -m crawler.reference > docs/settings.md"
