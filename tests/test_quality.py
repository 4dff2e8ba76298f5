"""Floors under the quality of the default method, on the development data."""

import importlib.util
import sys
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("quality", Path(__file__).with_name("quality.py"))
quality = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = quality  # dataclasses look their module up
spec.loader.exec_module(quality)

FLOORS = {"fundus-dev": 0.85, "wcxb-dev": 0.70}


@pytest.mark.parametrize("name", FLOORS)
def test_the_default_method_stays_above_its_floor(name):
    if not quality.DATA.exists():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no data at {quality.DATA}")
    found = quality.summary(quality.evaluate("default", name)["all"])
    assert found["f1"] >= FLOORS[name], found


def test_a_text_scores_against_itself_and_against_nothing():
    text = "one two three four five six"
    assert quality.score(text, text, 4) == quality.Score(1.0, 1.0, 1.0)
    assert quality.score("", text, 4) == quality.Score(0.0, 0.0, 0.0)
    assert quality.score("", "", 1).f1 == 1.0


def test_words_are_counted_as_often_as_they_stand():
    assert quality.score("a a b", "a b b", 1) == quality.Score(pytest.approx(2 / 3), 2 / 3, 2 / 3)
