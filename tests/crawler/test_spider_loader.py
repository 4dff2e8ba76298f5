"""Another package with the name of one of ours is detected."""

import pytest

from blocksieve import HOME
from crawler.addon import check_packages


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

    return pathsep.join([str(place), str(HOME)])
