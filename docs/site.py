"""Hooks of MkDocs for `make docs`: pages outside docs/ and the sources that pages link to become pages of the site.

A link in docs/ leads to a file of the repository, so that the pages can be read without a site. Here each such link is
turned to the page of the site that shows the file.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = PurePosixPath("docs")
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "cleaning/README.md", "research/training/CONVENTION.md")
"""Pages of the site that are not in docs/."""
COPIED = {".ipynb", ".md", ".png", ".svg"}
"""Files that a link in docs/ leads to as they are; other files are shown as sources."""
LANGUAGES = {".py": "python", ".pyx": "cython", ".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, and a page for each source that a page links to."""
    for path in OUTSIDE:
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    pages = [place_of(file.src_uri) for file in files.documentation_pages()]
    for target in sorted({target for page in pages for target in linked_from(page)}):
        address = address_of(target)
        if address.startswith("source/"):
            files.append(File.generated(config, address, content=show_source(target)))
        elif files.get_file_from_path(address) is None:
            files.append(File.generated(config, address, abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 — MkDocs'
    """Let each link of a page lead to the site's page of its target."""
    if page.file.src_uri.startswith("source/"):
        return markdown
    place = place_of(page.file.src_uri)
    here = PurePosixPath(page.file.src_uri).parent

    def turn(link: re.Match[str]) -> str:
        target = address_of(resolve(place, link[1]))
        return f"]({relpath(target, here)}{link[2] or ''})"

    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(turn, part) for part in parts)


def linked_from(page: PurePosixPath) -> set[PurePosixPath]:
    """Return the files that a page links to, by their place in the repository."""
    text = _FENCED.sub("", (ROOT / page).read_text("utf-8"))
    return {resolve(page, link[1]) for link in _LINK.finditer(text)}


def resolve(page: PurePosixPath, link: str) -> PurePosixPath:
    """Return the place that a link of a page names."""
    return PurePosixPath(normpath(page.parent / link))


def place_of(address: str) -> PurePosixPath:
    """Return the place of a page of the site in the repository."""
    return PurePosixPath(address) if address in OUTSIDE else DOCS / address


def address_of(place: PurePosixPath) -> str:
    """Return the address on the site of a file or folder of the repository."""
    if place.as_posix() in OUTSIDE:
        return place.as_posix()
    if place == PurePosixPath("README.md"):
        return "index.md"
    if place.is_relative_to(DOCS) and place.suffix in COPIED:
        return place.relative_to(DOCS).as_posix()
    return f"source/{place}.md"


def show_source(place: PurePosixPath) -> str:
    """Return a page with a file, or with the files of a folder."""
    path = ROOT / place
    files = sorted(entry for entry in path.iterdir() if entry.is_file()) if path.is_dir() else [path]
    parts = [f"---\nsearch:\n  exclude: true\n---\n# {place}\n"]
    for file in files:
        heading = f"## {file.name}\n\n" if path.is_dir() else ""
        parts.append(f"{heading}````{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text('utf-8')}\n````\n")
    return "\n".join(parts)
