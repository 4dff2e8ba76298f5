"""Which package is imported where a project has one named like ours; tests/test_wheel.py runs whole projects."""

import sys

import pytest

import blocksieve


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project's folder, last on the path, as the program `scrapy` puts it."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n", "utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


@pytest.fixture
def as_new(monkeypatch):
    """Let a package be imported as if for the first time; it is restored afterwards."""

    def forget(name):
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name))
        monkeypatch.delitem(sys.modules, name)

    return forget


@pytest.mark.parametrize("form", ["package", "module", "namespace"])
def test_a_project_package_comes_before_ours(project, as_new, form):
    folder = project / "spiders"
    if form != "module":
        folder.mkdir()
    place = {"package": folder / "__init__.py", "module": project / "spiders.py", "namespace": folder / "deep" / "a.py"}
    place[form].parent.mkdir(exist_ok=True)
    place[form].write_text("NAME = 'theirs'\n", "utf-8")
    as_new("spiders")
    assert blocksieve.hiding_place("spiders") == (place[form] if form == "module" else folder)
    assert blocksieve.defer_to_project_package("spiders")
    module = sys.modules["spiders"]
    assert getattr(module, "NAME", None) == ("theirs" if form != "namespace" else None)
    assert [*getattr(module, "__path__", [])] == ([] if form == "module" else [str(folder)])


def test_a_folder_without_modules_is_no_package(project, as_new):
    (project / "spiders").mkdir()
    (project / "spiders" / "notes.txt").touch()
    as_new("spiders")
    assert not blocksieve.defer_to_project_package("spiders")
    assert blocksieve.hiding_place("spiders") is None


def test_a_folder_that_is_no_project_changes_nothing(project, as_new):
    (project / "scrapy.cfg").unlink()
    (project / "spiders.py").touch()
    as_new("spiders")
    assert not blocksieve.defer_to_project_package("spiders")


def test_another_checkout_of_ours_is_no_project(project, as_new):
    (project / "blocksieve.py").touch()
    (project / "spiders.py").touch()
    as_new("spiders")
    assert not blocksieve.defer_to_project_package("spiders")


def test_an_error_in_the_package_of_a_project_is_the_project_s(project, as_new):
    (project / "spiders.py").write_text("raise ValueError('theirs')\n", "utf-8")
    as_new("spiders")
    with pytest.raises(ValueError, match="theirs"):
        blocksieve.defer_to_project_package("spiders")


def test_a_hidden_package_makes_each_command_a_sentence(project, as_new, capsys):
    (project / "cleaning.py").touch()
    as_new("cleaning")
    command = blocksieve.status()
    assert (command.requires_project, command.syntax(), command.default_settings) == (False, "", {})
    assert command.short_desc() == "(not in this project, which hides a package of Blocksieve)"
    command.settings = {}
    with pytest.raises(SystemExit) as end:
        command.process_options([], None)
    assert end.value.code == 2
    assert capsys.readouterr().err == f"scrapy: {command.long_desc()}\n"
    assert command.long_desc().startswith(f"{project / 'cleaning.py'} hides Blocksieve's package 'cleaning', so its")


def test_without_a_hidden_package_commands_are_ours():
    assert blocksieve.status().short_desc() == "Show what the database contains and what the last crawls did"
    with pytest.raises(AttributeError):
        blocksieve.nothing_of_the_kind  # noqa: B018 — it is looked up
