"""Options: unknown names, types, bounds."""

from dataclasses import fields

import pytest

from cleaning import OptionError, Options, clean


@pytest.mark.parametrize(("method", "hint"), [("defalt", "did you mean 'default'"), ("zzz", "known: .*default")])
def test_unknown_method_names_the_nearest(method, hint):
    with pytest.raises(OptionError, match=f"unknown method '{method}'; {hint}"):
        clean(b"", method=method)


@pytest.mark.parametrize(("name", "hint"), [("max_block", "did you mean 'max_blocks'"), ("zzz", "known: .*max_bytes")])
def test_unknown_option_names_the_nearest(name, hint):
    with pytest.raises(OptionError, match=f"unknown option '{name}'; {hint}"):
        clean(b"", **{name: 1})


@pytest.mark.parametrize("value", ["1000", None, 1000.0, True, [1000], float("nan")])
def test_value_of_another_type_is_refused(value):
    with pytest.raises(OptionError, match="option 'max_blocks' takes a number like 20000"):
        Options.read({"max_blocks": value})


WEIGHTS = ("weighted_alpha", "weighted_beta", "weighted_gamma")


def numbers():
    return [each for each in fields(Options) if "low" in each.metadata]


@pytest.mark.parametrize("declared", numbers(), ids=lambda declared: declared.name)
def test_both_bounds_are_allowed_and_nothing_beyond(declared):
    low, high = declared.metadata["low"], declared.metadata["high"]
    for value in (low, high) if declared.name not in WEIGHTS else ():
        assert getattr(Options.read({declared.name: value}), declared.name) == value
    for value in (low - 1, high + 1):
        with pytest.raises(OptionError, match=f"it must lie between {low} and {high}"):
            Options.read({declared.name: value})


@pytest.mark.parametrize("declared", fields(Options), ids=lambda declared: declared.name)
def test_every_default_is_allowed_and_every_option_has_help(declared):
    assert getattr(Options.read({declared.name: declared.default}), declared.name) == declared.default
    assert declared.metadata["help"]


def test_nothing_given_means_the_defaults():
    assert Options.read({}) == Options()


def test_option_error_is_a_value_error():
    assert issubclass(OptionError, ValueError)


@pytest.mark.parametrize("weights", [(0, 0, 1), (0.2, 0.4, 0.4), (1 / 3, 1 / 3, 1 / 3)])
def test_weights_that_rise_and_add_up_to_one_are_allowed(weights):
    options = Options.read(dict(zip(WEIGHTS, weights, strict=True)))
    assert tuple(getattr(options, name) for name in WEIGHTS) == weights


@pytest.mark.parametrize("weights", [(0.3, 0.3, 0.3), (0.4, 0.3, 0.3), (0.3, 0.4, 0.4)])
def test_weights_that_fall_or_do_not_add_up_are_refused(weights):
    with pytest.raises(OptionError, match=r"they must add up to 1"):
        Options.read(dict(zip(WEIGHTS, weights, strict=True)))
