"""Another package with the name of one of ours is detected."""

import sys

import pytest

from crawler.addon import check_packages, prefer_project


def test_our_own_packages_are_accepted():
    check_packages()


@pytest.fixture
def foreign(tmp_path):
    """Put a foreign package or module first on the path and return the environment for it."""

    def put(name, *, package=True):
        place = tmp_path / "site-packages"
        place.mkdir()
        if package:
            (place / name).mkdir()
            (place / name / "__init__.py").write_text("", "utf-8")
        else:
            (place / f"{name}.py").write_text("", "utf-8")
        return place

    return put


@pytest.mark.parametrize("package", [True, False], ids=["package", "module"])
@pytest.mark.parametrize("name", ["spiders", "pipelines"])
def test_a_foreign_package_stops_the_crawl_and_is_named(crawl, foreign, tmp_path, name, package):
    place = foreign(name, package=package)
    crawled = crawl("section", {"url": "https://x.example/"}, folder=tmp_path, environment={"PYTHONPATH": paths(place)})
    assert crawled.code == 2
    assert str(place / name) in crawled.log
    assert "Traceback" not in crawled.log
    assert len(crawled.log.strip().splitlines()) == 1


def paths(place):
    from os import pathsep  # noqa: PLC0415

    root = check_packages.__globals__["_HOME"]
    return pathsep.join([str(place), str(root)])


@pytest.mark.parametrize(("name", "preferred"), [("spiders", True), ("pipelines", True), ("newsroom", False)])
def test_a_projects_folder_comes_first_only_where_its_packages_are_named_like_ours(
    tmp_path, monkeypatch, name, preferred
):
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    prefer_project()
    assert (sys.path[0] == str(tmp_path)) == preferred


def test_our_own_folder_and_no_folder_change_nothing(tmp_path, monkeypatch):
    for folder in (check_packages.__globals__["_HOME"], tmp_path):
        monkeypatch.chdir(folder)
        before = list(sys.path)
        prefer_project()
        assert sys.path == before
