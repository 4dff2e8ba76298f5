"""Settings explained: value, who set it, and what is wrong with it."""

from dataclasses import fields

import pytest
from project_settings import make_settings

from crawler.config import Config
from crawler.config.explanation import explain_setting, explain_settings
from crawler.errors import ConfigError


def test_a_setting_has_what_its_declaration_says():
    setting = explain_setting("DEDUP_DISTANCE", make_settings())
    assert (setting.type, setting.default, setting.low, setting.high, setting.allowed) == (
        "whole number",
        3,
        0,
        3,
        "0 to 3",
    )
    assert setting.help == "Largest number of bits in which the fingerprints of two near-duplicates differ."


def test_all_settings_are_explained_in_the_order_of_their_declaration():
    names = [setting.name.lower() for setting in explain_settings(make_settings())]
    assert names[:2] == ["database_url", "database_wait_seconds"]
    assert sorted(names) == sorted(field.name for field in fields(Config))


def test_the_default_configuration_has_no_problem():
    all_settings = explain_settings(make_settings())
    assert {(setting.set_by, setting.problem) for setting in all_settings} == {("default", None)}
    assert all(setting.value in (setting.default, {}) for setting in all_settings)


def test_texts_are_shown_as_their_values():
    setting = explain_setting("PAGES_OF_TYPES", make_settings(PAGES_OF_TYPES="article, forum"))
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
    setting = explain_setting(name, make_settings(**{name: value}))
    assert says in setting.problem


def test_one_bad_setting_does_not_hinder_the_explanation_of_others():
    problems = {setting.name: setting.problem for setting in explain_settings(make_settings(DEDUP_DISTANCE=9))}
    assert [name for name, problem in problems.items() if problem] == ["DEDUP_DISTANCE"]


def test_times_between_visits_are_checked_beside_each_other():
    both = {"REVISIT_MIN_SECONDS": 4e6, "REVISIT_MAX_SECONDS": 5e6}
    assert not any(setting.problem for setting in explain_settings(make_settings(**both)))
    problems = {setting.name: setting.problem for setting in explain_settings(make_settings(REVISIT_MIN_SECONDS=4e6))}
    assert {name for name, problem in problems.items() if problem} == both.keys()
    assert "REVISIT_MIN_SECONDS is 4000000.0 and REVISIT_MAX_SECONDS is" in problems["REVISIT_MAX_SECONDS"]


def test_no_password_is_shown():
    for url in ("postgresql+psycopg://u:secret@host/x", "nonsense://u:secret@host"):
        assert "secret" not in repr(explain_setting("DATABASE_URL", make_settings(DATABASE_URL=url)))


def test_an_unknown_name_has_the_nearest_named():
    with pytest.raises(ConfigError, match="did you mean 'DEDUP_SCOPE'"):
        explain_setting("dedup_scop", make_settings())


def test_a_setting_of_scrapys_is_said_to_be_one():
    with pytest.raises(ConfigError, match=r"DOWNLOAD_DELAY is a setting of Scrapy .* it is 7, set by project"):
        explain_setting("DOWNLOAD_DELAY", make_settings(DOWNLOAD_DELAY=7))


def test_a_secret_of_another_package_stays_one():
    with pytest.raises(ConfigError) as error:
        explain_setting("AWS_SECRET_ACCESS_KEY", make_settings(AWS_SECRET_ACCESS_KEY="hush"))
    assert "hush" not in str(error.value)
