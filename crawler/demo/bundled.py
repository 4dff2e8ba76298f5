"""The demo's own texts and page templates, from the package's data files."""

from __future__ import annotations

import tomllib
from importlib import resources
from string import Template
from typing import Any


def load_texts(name: str) -> dict[str, Any]:
    """Return the tables of `texts/<name>.toml`."""
    return tomllib.loads(_read(f"texts/{name}.toml"))


def load_template(name: str) -> Template:
    return Template(_read(f"templates/{name}.html"))


def _read(path: str) -> str:
    return resources.files("crawler.demo").joinpath(path).read_text("utf-8")
