"""What users install: a wheel, used from an empty folder."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from crawler.demo.run import BASE_URL, FAST_SETTINGS, site

ROOT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
HEADERS = Path(sysconfig.get_path("include"), "Python.h")


CORE = (
    "from cleaning import compiled; "
    "print(compiled.compiled_scan(), compiled.compiled_trees(), compiled.compiled_words(), compiled.compiled_looks(), "
    "compiled.compiled_rows())"
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the built wheel's files; put first on the path it hides the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = build(folder / "dist")
    subprocess.run([*PIP, "install", "--no-deps", "--target", folder / "site", wheel], check=True)
    return folder / "site"


def build(folder, **environment):
    """Return the wheel, built in that environment."""
    command = [*PIP, "wheel", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(command, env=os.environ | environment, check=True)
    (wheel,) = folder.glob("blocksieve-*.whl")
    return wheel


def run(installed, folder, code, **environment):
    """Return what Python code prints in that folder."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(installed)} | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


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
    assert run(installed, tmp_path, code).count(str(installed)) == 2


@pytest.mark.skipif(
    shutil.which("cc") is None or not HEADERS.exists(), reason="COMPILER: there is none, or no header of Python"
)
def test_the_wheel_has_the_compiled_core(installed, tmp_path):
    assert run(installed, tmp_path, CORE, BLOCKSIEVE_PURE="").count(str(installed)) == 5


def test_the_core_of_the_wheel_is_not_used_where_the_environment_forbids_it(installed, tmp_path):
    assert run(installed, tmp_path, CORE, BLOCKSIEVE_PURE="1") == "None None None None None\n"


@pytest.mark.parametrize("environment", [{"CC": "false"}, {"BLOCKSIEVE_PURE": "1"}])
def test_a_wheel_built_without_a_compiler_is_pure(environment, tmp_path):
    wheel = build(tmp_path / "dist", **environment)
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "cleaning/compiled.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd", ".c", ".pyx", ".pxi"))]


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
    assert status.returncode == 0, status.stderr
    assert json.loads(status.stdout)["totals"]["pages"] > 0


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
