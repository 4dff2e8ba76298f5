"""What users install: a wheel, used from an empty folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawler.demo.run import BASE_URL, FAST_SETTINGS, site

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the built wheel's files; put first on the path it hides the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder / "dist", ROOT], check=True)
    (wheel,) = (folder / "dist").glob("blocksieve-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True)
    return folder / "site"


def scrapy(installed, folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(installed), "SCRAPY_SETTINGS_MODULE": "crawler.settings", "no_proxy": "", "NO_PROXY": ""}
        | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_installed_packages_are_the_wheels(installed, tmp_path):
    code = "import cleaning, crawler, pipelines, spiders; print(cleaning.__file__, spiders.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.count(str(installed)) == 2


def test_the_spiders_are_listed_in_an_empty_folder(installed, tmp_path):
    listed = scrapy(installed, tmp_path, "list")
    assert listed.stdout.split() == ["archive", "ezine", "section"]


def test_a_category_is_crawled_into_a_database_in_an_empty_folder(installed, tmp_path):
    settings = [part for name, value in FAST_SETTINGS.items() for part in ("-s", f"{name}={value}")]
    arguments = ["-a", "category=Computers-and-Technology", "-a", "pages=3", "-a", f"base_url={BASE_URL}"]
    with site() as address:
        crawled = scrapy(installed, tmp_path, "crawl", "ezine", *arguments, *settings, http_proxy=address)
    assert crawled.returncode == 0, crawled.stderr
    assert (tmp_path / "blocks.db").exists()
    status = scrapy(installed, tmp_path, "status", "--json")
    assert '"pages": 0' not in status.stdout
    assert status.returncode == 0, status.stderr


def test_the_commands_are_there_without_a_project(installed, tmp_path):
    environment = {"SCRAPY_SETTINGS_MODULE": ""}
    created = scrapy(installed, tmp_path, "initdb", "-s", "DATABASE_URL=sqlite:///other.db", **environment)
    assert created.returncode == 0, created.stderr
    assert (tmp_path / "other.db").exists()


def test_methods_are_compared_without_a_project(installed, tmp_path):
    (tmp_path / "page.html").write_text("<p>The river rose in the night, and the bridge was closed until morning.")
    arguments = ["page.html", "--methods", "default,pab", "--html", "out.html"]
    compared = scrapy(installed, tmp_path, "compare", *arguments, SCRAPY_SETTINGS_MODULE="")
    assert compared.returncode == 0, compared.stderr
    assert "<style>:root" in (tmp_path / "out.html").read_text("utf-8")
