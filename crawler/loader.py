"""Whose `spiders` and `pipelines` are loaded: ours, in our own crawls, and otherwise the project's."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from scrapy.spiderloader import SpiderLoader as ScrapySpiderLoader
from scrapy.utils.conf import closest_scrapy_cfg

from crawler.errors import SetupError

_HOME = Path(__file__).resolve().parent.parent
_NAMES = ("spiders", "pipelines")


class SpiderLoader(ScrapySpiderLoader):
    """Raises SetupError where a foreign package hides `spiders` or `pipelines`; Scrapy would show no spider at all."""

    def _load_all_spiders(self) -> None:
        if "spiders" in self.spider_modules:
            check_packages()
        super()._load_all_spiders()


def prefer_project() -> None:
    """Let a project's own packages `spiders` and `pipelines` be found before ours.

    The program `scrapy` puts a project's folder last on the path, behind all that is installed.
    """
    config = closest_scrapy_cfg()
    folder = Path(config).resolve().parent if config else _HOME
    if folder != _HOME and any(PathFinder.find_spec(name, [str(folder)]) for name in _NAMES):
        sys.path.insert(0, str(folder))


def check_packages() -> None:
    """Raise SetupError where `spiders` or `pipelines` would not be imported from beside `crawler`."""
    for name in _NAMES:
        found = _place(name)
        if found is None:
            raise SetupError(f"the package {name!r} is missing beside {_HOME / 'crawler'}: install blocksieve again")
        if found != _HOME / name:
            raise SetupError(
                f"{found} hides our package {_HOME / name}: uninstall what brought it, rename it, "
                f"or put {_HOME} first on PYTHONPATH"
            )


def _place(name: str) -> Path | None:
    """Return the folder, or the file of a lone module, from which a name is imported."""
    module = sys.modules.get(name)
    spec = module.__spec__ if module is not None else importlib.util.find_spec(name)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin).resolve() if spec.origin else None
