"""The table of methods: those of other distributions, and those that a program registers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cleaning import METHODS, OptionError, Reason, clean
from cleaning.methods import Method, register
from cleaning.methods.method import MethodTable

ROOT = Path(__file__).parents[3]
CODE = """
from dataclasses import replace
from cleaning.methods import METHODS

DEFAULT = METHODS["default"]
PROSE = replace(METHODS["pab"], citation="at home")
TEXT = "no method"
"""
POINTS = "prose = acme_prose:PROSE\ngone = acme_nothing:PROSE\nlost = acme_prose:LOST\nodd = acme_prose:TEXT"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install distributions with entry points; return the folder, which is on the path."""

    def install(**points):
        (tmp_path / "acme_prose.py").write_text(CODE)
        for name, lines in points.items():
            folder = tmp_path / f"{name}-1.0.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (folder / "entry_points.txt").write_text(f"[blocksieve.methods]\n{lines}\n")
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    return install


@pytest.fixture
def table():
    return MethodTable({"default": METHODS["default"], "pab": METHODS["pab"]})


def test_a_method_of_a_distribution_is_in_the_table(install, table):
    install(acme=POINTS)
    assert list(table) == ["default", "pab", "gone", "lost", "odd", "prose"]
    assert table["prose"].citation == "at home"
    assert len(table) == 6
    assert "prose" in table


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gone", "the method 'gone' of the distribution acme cannot be imported: ModuleNotFoundError: No module named"),
        ("lost", "the method 'lost' of the distribution acme cannot be imported: AttributeError: module 'acme_prose'"),
        ("odd", "the method 'odd' of the distribution acme is a str; it must be a cleaning.methods.Method"),
        ("prosa", "unknown method 'prosa'; did you mean 'prose'?"),
    ],
)
def test_a_method_that_cannot_be_used_is_named_when_it_is_asked_for(install, table, name, says):
    install(acme=POINTS)
    assert table.find("default") is METHODS["default"]
    with pytest.raises(OptionError) as raised:
        table.find(name)
    assert says in str(raised.value)


def test_a_name_that_is_taken_is_an_error_that_names_the_distribution(install, table):
    install(acme="pab = acme_prose:PROSE", books="prose = acme_prose:PROSE", cards="prose = acme_prose:PROSE")
    with pytest.raises(OptionError, match="the distribution acme has a method 'pab', a name that is taken"):
        table["pab"]
    with pytest.raises(OptionError, match="the distributions books and cards both have a method 'prose'"):
        table["prose"]
    assert table["default"] is METHODS["default"]


def test_a_registered_method_cleans(monkeypatch):
    pab = METHODS["pab"]
    monkeypatch.setitem(METHODS, "registered", pab)  # so that it is removed at the end
    del METHODS["registered"]
    register("registered", Method(pab.segment, pab.score, pab.decide, "nowhere"))
    assert clean("<p>The river rose in the night.</p>", method="registered").method == "registered"


@pytest.mark.parametrize(
    ("name", "method", "says"),
    [
        ("pab", METHODS["pab"], "the name 'pab' of a method is taken"),
        ("Not ours", METHODS["pab"], "the name of a method is 'Not ours'; it takes up to 40 small letters"),
        ("fresh", Reason.KEPT, "the method 'fresh' is a Reason; it must be a cleaning.methods.Method"),
    ],
)
def test_what_cannot_be_registered_is_an_error(name, method, says):
    with pytest.raises(OptionError, match=says):
        register(name, method)


def test_programs_know_a_method_of_a_distribution(install):
    folder = install(acme=POINTS)
    (folder / "page.html").write_text("<h1>The river</h1><p>It rose in the night, and nobody was hurt.</p>")
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}

    def run(*command):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    assert "It rose in the night" in run("cleaning", "page.html", "--method", "prose")
    assert "argument --method: the method 'gone' of the distribution acme" in run("cleaning", "-", "--method", "gone")
    assert "econ, gone, lost, odd," in run("cleaning", "--help")
    explained = run("scrapy", "settings", "--explain", "CLEANING_METHOD", "-s", "CLEANING_METHOD=odd")
    assert "A crawl would stop: CLEANING_METHOD is 'odd'" in explained
    assert "of the distribution acme is a str" in " ".join(explained.split())
