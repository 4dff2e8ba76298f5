"""The settings of the project: every component that they name exists, in an order without ties."""

import pytest
from scrapy.utils.misc import load_object

import crawler.settings

COMPONENTS = {
    name: value
    for name, value in vars(crawler.settings).items()
    if name.isupper() and isinstance(value, dict) and any("." in str(key) for key in value)
}


def test_the_settings_name_components():
    assert {"ADDONS", "ITEM_PIPELINES"} <= COMPONENTS.keys()


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_component_can_be_loaded(name):
    for path in COMPONENTS[name]:
        assert load_object(path)


@pytest.mark.parametrize("name", COMPONENTS)
def test_no_two_components_have_the_same_place(name):
    places = [place for place in COMPONENTS[name].values() if place is not None]
    assert len(set(places)) == len(places)
