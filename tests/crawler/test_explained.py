"""Settings explained from their declaration, and as they stand."""

from dataclasses import fields

import pytest
from scrapy.settings import Settings

from crawler.config import Config
from crawler.errors import ConfigError
from crawler.explained import explain, explain_all


def settings(priority="project", **values):
    found = Settings()
    found.setdict(values, priority=priority)
    return found


def test_a_setting_has_what_its_declaration_says():
    found = explain("DEDUP_DISTANCE", settings())
    assert (found.type, found.default, found.low, found.high, found.allowed) == ("whole number", 3, 0, 3, "0 to 3")
    assert found.help == "most bits between the fingerprints of near-duplicates"


def test_all_settings_are_explained_in_the_order_of_their_declaration():
    assert [one.name.lower() for one in explain_all(settings())] == [field.name for field in fields(Config)]


def test_the_default_configuration_has_no_problem(monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    found = explain_all(settings())
    assert {(one.set_by, one.problem) for one in found} == {("default", None)}
    assert all(one.value in (one.default, {}) for one in found)


@pytest.mark.parametrize(
    ("priority", "word"), [("project", "project"), ("spider", "spider"), ("cmdline", "command line")]
)
def test_who_has_set_it_is_named(priority, word):
    found = explain("DEDUP_SCOPE", settings(priority, DEDUP_SCOPE="site"))
    assert (found.value, found.set_by) == ("site", word)


def test_the_environment_is_named_where_nothing_else_has_set_it(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "sqlite:///other.db")
    assert explain("database_url", settings()).set_by == "environment"
    assert explain("database_url", settings(DATABASE_URL="sqlite:///x.db")).set_by == "project"


def test_texts_are_shown_as_their_values():
    found = explain("PAGES_OF_TYPES", settings(PAGES_OF_TYPES="article, forum"))
    assert (found.value, found.type) == (("article", "forum"), "texts")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DEDUP_DISTANCE", 9, "between 0 and 3"),
        ("PAGES_FROM", "(", "no regular expression"),
        ("CLEANING_OPTIONS", '{"max_byte": 5000}', "did you mean 'max_bytes'"),
        ("ALLOW_ADDRESSES", "here", "networks and addresses"),
    ],
)
def test_a_value_that_would_stop_a_crawl_is_shown_with_the_reason(name, value, says):
    found = explain(name, settings(**{name: value}))
    assert says in found.problem


def test_one_bad_setting_does_not_hinder_the_explanation_of_others():
    found = {one.name: one.problem for one in explain_all(settings(DEDUP_DISTANCE=9))}
    assert [name for name, problem in found.items() if problem] == ["DEDUP_DISTANCE"]


def test_no_password_is_shown():
    for url in ("postgresql+psycopg://u:secret@host/x", "nonsense://u:secret@host"):
        assert "secret" not in repr(explain("DATABASE_URL", settings(DATABASE_URL=url)))


def test_an_unknown_name_has_the_nearest_named():
    with pytest.raises(ConfigError, match="did you mean 'DEDUP_SCOPE'"):
        explain("dedup_scop", settings())


def test_a_setting_of_scrapys_is_said_to_be_one():
    with pytest.raises(ConfigError, match=r"DOWNLOAD_DELAY is none of Blocksieve's .* now 7, set by project"):
        explain("DOWNLOAD_DELAY", settings(DOWNLOAD_DELAY=7))


def test_a_secret_of_another_package_stays_one():
    with pytest.raises(ConfigError) as error:
        explain("AWS_SECRET_ACCESS_KEY", settings(AWS_SECRET_ACCESS_KEY="hush"))
    assert "hush" not in str(error.value)
