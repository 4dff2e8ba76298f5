"""`make docs`: the site is built without a warning, and each link and picture in it leads somewhere."""

import json
import os
import sys
from pathlib import Path
from urllib.parse import unquote

import processes
import pytest
import reference
from lxml import html as lxml_html

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, and what its making printed."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = processes.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


def test_the_site_is_built_without_a_warning(site):
    _, said = site
    assert [line for line in said.splitlines() if not line.startswith("INFO")] == []


def test_every_link_and_picture_of_the_site_leads_somewhere(site):
    folder, _ = site
    pages = {path: lxml_html.parse(path).getroot() for path in folder.rglob("*.html")}
    marks = {path: {*root.xpath("//@id"), *root.xpath("//@name"), ""} for path, root in pages.items()}
    assert len(pages) > 60
    lost = []
    for path, root in pages.items():
        for link in root.xpath("//a/@href | //img/@src | //link/@href | //script/@src"):
            name, _, mark = unquote(link).partition("#")
            if name.startswith(("http:", "https:", "mailto:", "/")):
                continue
            target = (path.parent / name.partition("?")[0]).resolve() if name else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (target in marks and mark not in marks[target]):
                lost.append((path.relative_to(folder).as_posix(), link))
    assert lost == []


def test_nothing_of_the_site_is_loaded_from_elsewhere(site):
    folder, _ = site
    for path in folder.rglob("*.html"):
        loaded = lxml_html.parse(path).xpath("//img/@src | //script/@src | //link[@rel='stylesheet']/@href")
        assert [link for link in loaded if "//" in link] == [], path


def test_the_search_finds_settings_commands_and_functions(site):
    folder, _ = site
    entries = json.loads((folder / "search" / "search_index.json").read_text("utf-8"))["docs"]
    assert {"tutorial.html", "commands.html#scrapy-serve", "database.html#duplicates"} <= {
        entry["location"] for entry in entries
    }
    (clean,) = [entry for entry in entries if entry["location"] == "api.html#cleaning.clean.clean"]
    assert "Raises OptionError" in clean["text"]
    assert any("DEDUP_DISTANCE" in entry["text"] for entry in entries if entry["location"].startswith("settings.html"))
    assert not any(entry["location"].startswith("source/") for entry in entries)


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_reference_page_is_what_the_program_declares(name):
    written = reference.PAGES[name]()
    assert (ROOT / "docs" / name).read_text("utf-8") == written, "run: python tests/support/reference.py"
