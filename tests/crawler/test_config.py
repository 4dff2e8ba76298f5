"""Settings and spider arguments: declared once, checked, explained, documented."""

from dataclasses import fields

from project_settings import make_settings
from scrapy import Spider
from scrapy.crawler import Crawler

from cleaning.declare import declared_options
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
from crawler.config.explanation import explain_setting


def read(priority="project", **values):
    return Config.read(make_settings(priority, **values))


def test_defaults_hold_where_nothing_is_set():
    config = read()
    assert (config.database_url, config.dedup_distance, config.keep_html) == ("sqlite:///blocks.db", 3, True)


def test_settings_of_other_components_pass():
    assert read("cmdline", PLAYWRIGHT_BROWSER_TYPE="chromium").dedup_scope == "all"


def test_every_setting_is_declared_once_and_has_help():
    themes = [declared_options(theme) for theme in Config.__bases__]
    assert sum(map(len, themes)) == len(fields(Config))
    assert all(option.help and not option.is_required for theme in themes for option in theme.values())


# Themes whose settings decide what is stored, but for these.
STORING_THEMES = {"Database", "Cleaning", "Duplicates and boilerplate", "Directives of pages", "Rendering"}
RUN_SETTINGS = """
DATABASE_URL DATABASE_WAIT_SECONDS STORE_BATCH_PAGES STORE_BATCH_SECONDS CLEANING_PROCESSES CLEANING_SECONDS
RENDER_SECONDS CHROMIUM CHROMIUM_SANDBOX SITE_MODELS
""".split()


def test_every_setting_that_decides_what_is_stored_is_kept_with_pages_or_by_the_database():
    declared = {name.upper() for theme in themes() if theme.title in STORING_THEMES for name in declared_options(theme)}
    kinds = [PAGE_SETTINGS, DATABASE_SETTINGS, [name for name in RUN_SETTINGS if name in declared]]
    assert declared == set().union(*kinds), "a new setting belongs to PAGE_SETTINGS, or to RUN_SETTINGS in this test"
    assert sum(map(len, kinds)) == len(declared)
    assert set(CLEANING_SETTINGS) < set(PAGE_SETTINGS)


def test_the_database_s_settings_take_the_place_of_defaults_only():
    kept = Config(dedup_scope="site", dedup_distance=1, boilerplate_min_pages=7).database_settings
    plain = make_settings()
    assert Config.read(plain).with_database_settings(plain, kept) == Config.read(plain)
    assert Config.read(plain).database_settings == kept
    assert explain_setting("DEDUP_SCOPE", plain).set_by == "database"
    project = make_settings(DEDUP_SCOPE="page")
    use_database_settings(project, kept)
    assert (Config.read(project).dedup_scope, Config.read(project).dedup_distance) == ("page", 1)
    profile = make_settings(PROFILE="pab2015")
    use_database_settings(profile, kept)
    assert (Config.read(profile).dedup_scope, Config.read(profile).dedup_distance) == ("off", 1)


def read_command_line(priority, **values):
    settings = make_settings(priority, **values)
    return command_line_settings(Config.read(settings), settings)


def test_the_command_line_changes_how_a_page_is_read_and_may_end_its_profile():
    stored = read(PROFILE="pab2015").page_settings
    assert changed_settings(stored, read_command_line("project", CLEANING_METHOD="eniw")) == {}
    overrides = read_command_line("cmdline", CLEANING_METHOD="eniw")
    assert changed_settings(stored, overrides) == {"CLEANING_METHOD": "eniw", "PROFILE": "none"}
    assert changed_settings(stored, read_command_line("cmdline", CLEANING_METHOD="pab")) == {}
    other = read_command_line("cmdline", PROFILE="subtree", STRUCTURE="true")
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
