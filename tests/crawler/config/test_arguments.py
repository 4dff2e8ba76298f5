"""Arguments of spiders: read, checked, and given to the next crawl."""

from dataclasses import dataclass

import pytest
from scrapy import Spider

from cleaning.declare import integer, option, required, web_url
from crawler.config.arguments import given_arguments, read_arguments
from crawler.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    url: str = required(web_url(), "where to start")
    pages: int = option(3, integer(1, 100_000), "how many")


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
        ({"seconds": "60"}, "no longer an argument of the spider 'news'; -s CLOSESPIDER_TIMEOUT=SECONDS"),
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
        read_arguments(Asked, arguments, "news")


def test_what_another_program_adds_is_not_given():
    spider = Spider("section", url="https://me:secret@x.example/", pages="2", _job="e86ef20a", _recrawl="1")
    assert given_arguments(spider) == {"url": "https://me:secret@x.example/", "pages": "2", "_recrawl": "1"}
