"""The file of sites: every fault is said at once, with the nearest name."""

from datetime import timedelta

import pytest
from scrapy.settings import Settings
from scrapy.spiderloader import SpiderLoader

from crawler.config.sites import crawl_identity, read_sites, select_sites
from crawler.errors import ConfigError


@pytest.fixture
def read(tmp_path):
    def reading(content):
        path = tmp_path / "sites.toml"
        path.write_text(content, "utf-8")
        settings = Settings({"SPIDER_MODULES": ["spiders"]})
        return read_sites(path, SpiderLoader(settings), settings)

    return reading


GOOD = """
[sites.example]
sections = ["https://a.example/news/", "https://a.example/sport/"]
interval = "6h"
arguments = { pages = 2, allow = 'story-\\d+' }
settings = { DOWNLOAD_DELAY = 2.5 }
method = "pab"

[sites.portal]
spider = "news"
arguments = { site = "bbc.co.uk", articles = 20 }
"""


def test_a_right_file_is_read_whole(read):
    file = read(GOOD)
    assert (file.faults, file.warnings) == ((), ())
    example = file.sites["example"]
    assert example.interval == timedelta(hours=6)
    assert example.crawl_arguments == [
        {"pages": "2", "allow": "story-\\d+", "url": "https://a.example/news/"},
        {"pages": "2", "allow": "story-\\d+", "url": "https://a.example/sport/"},
    ]
    assert example.crawl_settings == {"DOWNLOAD_DELAY": 2.5, "CLEANING_METHOD": "pab", "REVISIT_MIN_SECONDS": 21_600.0}
    assert file.sites["portal"].crawl_arguments == [{"site": "bbc.co.uk", "articles": "20"}]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("interval =", "intervall =", "example: unknown key 'intervall'; did you mean 'interval'?"),
        ('"6h"', '"6 weeks"', "example: interval is '6 weeks'; it takes a number of minutes, hours or days"),
        ('"6h"', '"0m"', "example: interval is '0m'; it takes a number of minutes, hours or days"),
        ("pages = 2", "pags = 2", "the spider 'section' has no argument 'pags'; did you mean 'pages'?"),
        ("pages = 2", "pages = -2", "the argument 'pages' of the spider 'section' is '-2'"),
        ('spider = "news"', 'spider = "nwes"', "portal: there is no spider 'nwes'; did you mean 'news'?"),
        ('method = "pab"', 'method = "pba"', "example: CLEANING_METHOD is 'pba'"),
        ("DOWNLOAD_DELAY = 2.5", "REVISIT_BUDGET = -1", "example: REVISIT_BUDGET is -1; it takes a whole number"),
        ("DOWNLOAD_DELAY = 2.5", 'DATABASE_URL = "x"', "the setting DATABASE_URL cannot differ between sites"),
        ("DOWNLOAD_DELAY = 2.5", 'CLEANING_METHOD = "tags"', "method is 'pab', but settings has CLEANING_METHOD"),
        ("https://a.example/sport/", "ftp://a.example/", "'ftp://a.example/': it takes an http or https URL"),
        ("https://a.example/sport/", "https://a.example/news/", "is crawled by the spider 'section' twice"),
        ("[sites.portal]", "[site.portal]", "unknown table or key 'site'; did you mean 'sites'?"),
        ("[sites.portal]", '[sites."my portal"]', "my portal: the name of a site has letters, digits"),
        ('site = "bbc.co.uk", ', "", "portal: the spider 'news' needs the argument 'site'"),
    ],
)
def test_a_fault_is_said_with_its_site(read, old, new, fault):
    assert old in GOOD
    assert fault in "\n".join(read(GOOD.replace(old, new)).faults)


def test_all_faults_are_said_at_once(read):
    faults = read(
        GOOD.replace("interval", "intervall").replace("pages = 2", "pags = 2").replace('"news"', '"nwes"')
    ).faults
    assert len(faults) == 3


def test_sections_below_one_another_are_a_warning(read):
    file = read(GOOD.replace("/sport/", "/news/sport/"))
    assert file.faults == ()
    assert file.warnings == (
        (
            "example: the section https://a.example/news/sport lies under https://a.example/news of example; both may "
            "find the same pages"
        ),
    )


def test_the_same_section_in_two_sites_is_a_fault(read):
    more = '[sites.copy]\nsections = ["https://a.example/news/"]\n'
    assert read(GOOD + more).faults == (
        "copy: https://a.example/news/ is crawled by the spider 'section' as in example",
    )


@pytest.mark.parametrize(
    ("content", "sentence"), [("[sites", "is not TOML"), ("", "there is no site"), ("sites = 3", "there is no site")]
)
def test_a_file_without_sites(read, content, sentence):
    try:
        said = "\n".join(read(content).faults)
    except ConfigError as error:
        said = str(error)
    assert sentence in said


def test_a_file_that_is_not_there(tmp_path):
    settings = Settings({"SPIDER_MODULES": ["spiders"]})
    with pytest.raises(ConfigError, match="-s SITES_FILE=PATH names the file of sites"):
        read_sites(tmp_path / "sites.toml", SpiderLoader(settings), settings)


def test_an_unknown_site_is_named(read):
    with pytest.raises(ConfigError, match=r"there is no site 'exmaple'.*did you mean 'example'"):
        select_sites(read(GOOD).sites, ["exmaple"])


def test_a_section_is_the_same_crawl_with_other_arguments():
    identity = crawl_identity("section", {"url": "https://a.example/news/", "pages": "1"})
    assert identity == crawl_identity("section", {"url": "https://a.example/news/#top", "pages": "5"})
    assert identity != crawl_identity("section", {"url": "https://a.example/sport/", "pages": "1"})
    assert crawl_identity("news", {"site": "a"}) != crawl_identity("news", {"site": "b"})
