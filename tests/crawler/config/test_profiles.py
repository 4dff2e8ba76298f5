"""Profiles: what each sets, and what happens to a setting that says something else."""

import pytest
from scrapy.settings import Settings

from cleaning import clean
from cleaning.declare import declared_options
from cleaning.options import Options
from crawler.config import Config
from crawler.config.explanation import explain_setting
from crawler.config.profiles import PROFILES
from crawler.errors import ConfigError


def read(profile="pab2015", priority="cmdline", **values):
    settings = Settings({"PROFILE": profile}, priority=priority)
    settings.update(values, priority="project")
    return settings


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_sets_every_option_of_its_method_and_stores_every_block(name):
    config = Config.read(read(name))
    own = {option for option in declared_options(Options) if option.startswith(f"{config.cleaning_method}_")}
    assert own == set(config.cleaning_options)
    # The papers' values are our defaults. Raw data is what no method has filtered.
    assert Options.read(config.cleaning_options) == Options(eniw_noise=name == "raw")
    assert (config.dedup_scope, config.boilerplate_min_pages) == ("off", 0)
    assert config.render == (config.cleaning_method == "vce")


def test_a_setting_of_a_lower_priority_gives_way():
    settings = read(DEDUP_SCOPE="site", CLEANING_METHOD="weighted")
    assert (Config.read(settings).dedup_scope, Config.read(settings).cleaning_method) == ("off", "pab")
    explained = explain_setting("DEDUP_SCOPE", settings)
    assert (explained.value, explained.set_by, explained.problem) == ("off", "PROFILE=pab2015", None)
    assert explain_setting("DEDUP_DISTANCE", settings).set_by == "default"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"DEDUP_SCOPE": "site"}, "PROFILE=pab2015 means DEDUP_SCOPE=off, but DEDUP_SCOPE is site (set by project)"),
        ({"CLEANING_METHOD": "eniw"}, "PROFILE=pab2015 means CLEANING_METHOD=pab, but CLEANING_METHOD is eniw"),
        ({"CLEANING_OPTIONS": '{"pab_outer_share": 0.4}'}, 'CLEANING_OPTIONS is {"pab_outer_share": 0.4}'),
        ({"PROFILE": "pab2016"}, "did you mean 'pab2015'"),
    ],
)
def test_a_contradiction_of_the_same_priority_is_one_sentence(values, says):
    settings = read(priority="project", **values)
    with pytest.raises(ConfigError) as caught:
        Config.read(settings)
    assert says in str(caught.value)
    name = next(iter(values))
    assert says in explain_setting(name, settings).problem


def test_what_agrees_or_has_nothing_to_do_with_a_profile_may_be_given():
    settings = read(priority="project", DEDUP_SCOPE="off", CLEANING_OPTIONS='{"max_blocks": 500}')
    assert Config.read(settings).cleaning_options == {"max_blocks": 500, "pab_outer_share": 0.5}
    assert Config.read(Settings()).profile == "none"


RAW_PAGE = (
    "<title>Title</title><body>bare<p>para</p><form><p>Search the archive</p></form><marquee>Breaking</marquee>"
    '<p>Sponsored <a href="https://other.example/">one</a></p><p> </p></body>'
)


def test_raw_keeps_every_block_with_text_and_eniw_drops_noise():
    kept = {}
    for name in ("raw", "eniw2013", "pab2015"):
        config = Config.read(read(name))
        page = clean(RAW_PAGE, "https://a.example/1", method=config.cleaning_method, **config.cleaning_options)
        kept[name] = [decision.block.text for decision in page.decisions if decision.kept]
    assert kept["raw"] == ["Title", "bare", "para", "Search the archive", "Breaking", "Sponsored one"]
    assert kept["eniw2013"] == ["Title", "para", "Sponsored one"]
    assert kept["pab2015"] == ["Title", "para"]
