"""Aliases of our settings, names of other packages, and misspelt names."""

import pytest
from project_settings import make_settings
from scrapy.settings import Settings

from crawler.addon import Cleaning
from crawler.config import Config, unknown_settings
from crawler.config.explanation import explain_setting
from crawler.config.names import REMOVED, set_ours
from crawler.config.values import is_on_command_line
from crawler.errors import ConfigError

# Settings that projects and their packages usually have.
USUAL_NAMES = """
    API_KEY API_TOKEN API_URL APP_NAME AUTH_TOKEN AWS_REGION BASE_URL BATCH_SIZE BRANCH BROWSER BUCKET_NAME CACHE_DIR
    CAPTCHA_KEY CATEGORIES CHANNEL CHROME_PATH CLIENT_ID COUNTRY CRAWLERA_ENABLED CRAWLERA_USER CRAWL_DATE CRAWL_ID
    CURRENCY CUSTOMER DATA_DIR DB_HOST DB_NAME DB_PASSWORD DB_PORT DB_URL DB_USER DEBUG DELTAFETCH_ENABLED
    DELTAFETCH_RESET DOMAIN DRY_RUN ELASTICSEARCH_HOST ELASTICSEARCH_INDEX EMAIL_TO END_DATE ENV ENVIRONMENT EXPORT_DIR
    FEED_NAME FILTER FTP_HOST GOOGLE_SHEET_ID HEADLESS IMAGE_DIR INCREMENTAL INPUT_FILE ITEM_LIMIT JOB_ID KAFKA_TOPIC
    KEYWORDS LANGUAGE LIMIT LOCALE LOCATION MAX_ITEMS MAX_PAGES MODE MONGO_DATABASE MONGO_URI MYSQL_HOST MYSQL_USER
    OUTPUT_DIR OUTPUT_FILE PAGE_LIMIT PAGE_SIZE POSTGRES_DSN PROJECT_NAME PROXY PROXY_LIST PROXY_URL QUEUE_NAME
    RABBITMQ_URL REDIS_HOST REDIS_PORT REDIS_START_URLS_KEY REDIS_URL REGION RESULTS_DIR ROTATING_PROXY_LIST RUN_ID
    S3_BUCKET SAVE_HTML SCRAPEOPS_API_KEY SELENIUM_DRIVER_NAME SENTRY_DSN SEED_FILE SHOP SLACK_WEBHOOK SLICE SOURCE
    SPIDERMON_ENABLED SPIDERMON_SLACK_TOKEN SPLASH_URL START_DATE STAGE STORE_ID TENANT TIMEOUT TOKEN USERNAME VERSION
    WEBHOOK_URL ZYTE_API_KEY ZYTE_API_ENABLED
""".split()


def test_settings_of_projects_and_other_packages_pass_in_silence():
    settings = make_settings("cmdline", **dict.fromkeys(USUAL_NAMES, "1"))
    assert len(USUAL_NAMES) > 95
    assert Config.read(settings) == Config.read(Settings())
    assert unknown_settings(settings) == []


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("DEDUP_SCOP", "DEDUP_SCOPE"),
        ("CONATCT", "CONTACT"),
        ("CLEANING_METOD", "CLEANING_METHOD"),
        ("FINGERPRINT_WIEGHTNG", "FINGERPRINT_WEIGHTING"),
        ("DATABASE_URI", "DATABASE_URL"),
    ],
)
def test_a_near_miss_of_our_names_is_noticed_and_refuses_nothing(name, nearest):
    settings = make_settings("cmdline", **{name: "x"})
    Config.read(settings)
    assert unknown_settings(settings) == [f"{name} is not a setting of Blocksieve; did you mean {nearest}?"]


@pytest.mark.parametrize("name", [*REMOVED, *(f"BLOCKSIEVE_{name}" for name in REMOVED)])
def test_a_removed_setting_says_what_to_do_and_stops_nothing(name):
    settings = make_settings(**{name: "0.9"})
    assert Config.read(settings) == Config.read(Settings())
    [sentence] = unknown_settings(settings)
    assert sentence.startswith(f"{name} is no longer a setting of Blocksieve: ")
    with pytest.raises(ConfigError, match="is no longer a setting of Blocksieve"):
        explain_setting(name, settings)


def test_a_near_miss_that_the_project_declares_is_its_own(tmp_path, monkeypatch):
    (tmp_path / "shop_settings.py").write_text("PROFILES = ['a']\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "shop_settings")
    settings = Settings()
    assert unknown_settings(make_settings("cmdline", PROFILES="b")) == [
        "PROFILES is not a setting of Blocksieve; did you mean PROFILE?"
    ]
    settings.setmodule("shop_settings", "project")
    settings.set("PROFILES", "b", "cmdline")
    assert unknown_settings(settings) == []


def test_a_name_in_the_settings_module_is_not_looked_at():
    assert unknown_settings(make_settings("project", DEDUP_SCOP="site")) == []


def test_every_setting_has_an_alias_that_counts_in_its_place():
    plain = {"ARCHIVE": True, "PROFILE": "staging", "RENDER": "splash", "DATABASE_URL": "mysql://shop"}
    ours = {"ARCHIVE": "a.warc.gz", "PROFILE": "none", "RENDER": "1", "DATABASE_URL": "sqlite:///ours.db"}
    settings = make_settings(**plain, **{f"BLOCKSIEVE_{name}": value for name, value in ours.items()})
    config = Config.read(settings)
    assert (config.archive, config.profile, config.render) == ("a.warc.gz", "none", True)
    assert config.database_url == "sqlite:///ours.db"
    assert {name: settings[name] for name in plain} == plain
    explained = explain_setting("BLOCKSIEVE_ARCHIVE", settings)
    assert explained == explain_setting("archive", settings)
    assert (explained.name, explained.value, explained.set_by) == (
        "ARCHIVE",
        "a.warc.gz",
        "project (BLOCKSIEVE_ARCHIVE)",
    )


def test_an_alias_counts_whatever_its_priority():
    settings = make_settings("cmdline", DEDUP_SCOPE="off")
    settings.set("BLOCKSIEVE_DEDUP_SCOPE", "site", "project")
    assert Config.read(settings).dedup_scope == "site"
    assert not is_on_command_line(settings, "DEDUP_SCOPE")


def test_what_commands_set_is_set_under_the_name_in_use():
    settings = make_settings(BLOCKSIEVE_CLEANING_METHOD="pab", STRUCTURE="1")
    set_ours(settings, "CLEANING_METHOD", "weighted", "cmdline")
    set_ours(settings, "STRUCTURE", "0", "cmdline")
    config = Config.read(settings)
    assert (config.cleaning_method, config.structure) == ("weighted", False)


def test_a_profile_by_its_alias_sets_the_method():
    assert Config.read(make_settings(BLOCKSIEVE_PROFILE="pab2015", PROFILE="staging")).cleaning_method == "pab"
    with pytest.raises(ConfigError, match="PROFILE=pab2015 means CLEANING_METHOD=pab"):
        Config.read(make_settings(BLOCKSIEVE_PROFILE="pab2015", BLOCKSIEVE_CLEANING_METHOD="weighted"))


def test_the_environment_has_the_alias_too(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "mysql://shop")
    monkeypatch.setenv("BLOCKSIEVE_DATABASE_URL", "sqlite:///ours.db")
    assert Config.read(make_settings(DATABASE_URL="mysql://shop")).database_url == "sqlite:///ours.db"


def test_an_unknown_name_with_our_prefix_is_refused():
    with pytest.raises(ConfigError, match="there is no setting BLOCKSIEVE_ARCHIV; did you mean BLOCKSIEVE_ARCHIVE"):
        Config.read(make_settings(BLOCKSIEVE_ARCHIV="x"))
    with pytest.raises(ConfigError, match="BLOCKSIEVE_SHOP; `scrapy settings --explain` lists all"):
        Config.read(make_settings(BLOCKSIEVE_SHOP="x"))


@pytest.mark.parametrize(
    ("name", "value"), [("PROFILE", "staging"), ("RENDER", "splash"), ("ARCHIVE", True), ("SUMMARY", {"a": 1})]
)
def test_a_clash_with_a_setting_of_the_project_names_the_alias(name, value):
    with pytest.raises(
        ConfigError, match=f"^{name} is .*; if {name} is a setting of the project's own, set BLOCKSIEVE_"
    ):
        Config.read(make_settings(**{name: value}))
    own = make_settings(**{name: value}, SPIDER_LOADER_CLASS="crawler.addon.SpiderLoader")
    with pytest.raises(ConfigError, match=f"^{name} is (?!.*BLOCKSIEVE_)"):
        Config.read(own)


def test_cleaning_leaves_settings_that_it_cannot_use_to_the_project():
    clashing = {"ARCHIVE": "/data/old", "RENDER": "splash", "REPLAY": 3}
    settings = make_settings(**clashing)
    Cleaning().update_settings(settings)
    config = Config.read(settings)
    assert (config.archive, config.render, config.replay) == ("", False, "")
    assert {name: settings[name] for name in clashing} == clashing


@pytest.mark.parametrize(("priority", "name"), [("project", "BLOCKSIEVE_ARCHIVE"), ("cmdline", "ARCHIVE")])
def test_cleaning_refuses_what_is_meant_for_it_and_cannot_be_used(priority, name):
    with pytest.raises(ConfigError, match=f"^{name} is 'a.warc.gz', but the add-on Cleaning"):
        Cleaning().update_settings(make_settings(priority, **{name: "a.warc.gz"}))
