"""Options: unknown names, types, bounds, and what a type checker sees."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

from cleaning import CleaningOptions, OptionError, Options, clean
from cleaning.declare import declared_options

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("method", "hint"), [("defalt", "did you mean 'default'"), ("zzz", "known: .*default")])
def test_unknown_method_names_the_nearest(method, hint):
    with pytest.raises(OptionError, match=f"unknown method '{method}'; {hint}"):
        clean(b"", method=method)


@pytest.mark.parametrize(("name", "hint"), [("max_block", "did you mean 'max_blocks'"), ("zzz", "known: .*max_bytes")])
def test_unknown_option_names_the_nearest(name, hint):
    with pytest.raises(OptionError, match=f"unknown option '{name}'; {hint}"):
        clean(b"", **{name: 1})


def test_help_names_every_option():
    assert [name for name in declared_options(Options) if f"`{name}`" not in clean.__doc__] == []


@pytest.mark.parametrize("value", ["1000", None, 1000.0, True, [1000], float("nan")])
def test_value_of_another_type_is_refused(value):
    with pytest.raises(OptionError, match=r"option 'max_blocks' is .*; it takes a whole number from 100 to 10000000"):
        Options.read({"max_blocks": value})


WEIGHTS = ("weighted_alpha", "weighted_beta", "weighted_gamma")


def numbers():
    return [option for option in declared_options(Options).values() if option.type.low is not None]


@pytest.mark.parametrize("declared", numbers(), ids=lambda declared: declared.name)
def test_both_bounds_are_allowed_and_nothing_beyond(declared):
    low, high = declared.type.low, declared.type.high
    for value in (low, high) if declared.name not in WEIGHTS else ():
        assert getattr(Options.read({declared.name: value}), declared.name) == value
    for value in (low - 1, high + 1):
        with pytest.raises(OptionError, match=f"it takes .*number from {low} to {high}"):
            Options.read({declared.name: value})


@pytest.mark.parametrize("declared", declared_options(Options).values(), ids=lambda declared: declared.name)
def test_every_default_is_allowed_and_every_option_has_help(declared):
    assert getattr(Options.read({declared.name: declared.default}), declared.name) == declared.default
    assert declared.help


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


def test_the_types_of_clean_are_those_of_the_options():
    assert get_type_hints(CleaningOptions) == {
        field.name: get_type_hints(Options)[field.name] for field in fields(Options)
    }


def test_mypy_finds_a_misspelt_option_and_a_value_of_another_type(tmp_path):
    program = tmp_path / "calls_of_clean.py"
    program.write_text(
        "from cleaning import clean\n"
        "clean('x', subtree_alpha=3, favour='recall', comments=True)\n"
        "clean('x', subtree_alhpa=3)\n"
        "clean('x', max_blocks='many')\n"
        "clean('x', favour='recal')\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)]
    report = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert [line.split(":")[1] for line in report.splitlines() if ": error: " in line] == ["3", "4", "5"], report
    assert 'Unexpected keyword argument "subtree_alhpa" for "clean"; did you mean "subtree_alpha"' in report
