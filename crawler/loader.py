"""Scrapy's spider loader, which first makes sure that the packages it loads from are ours."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from scrapy.spiderloader import SpiderLoader as ScrapySpiderLoader

from crawler.errors import SetupError

_HOME = Path(__file__).resolve().parent.parent


class SpiderLoader(ScrapySpiderLoader):
    """Raises SetupError where a foreign package hides `spiders` or `pipelines`; Scrapy would show no spider at all."""

    def _load_all_spiders(self) -> None:
        if "spiders" in self.spider_modules:
            check_packages()
        super()._load_all_spiders()


def check_packages() -> None:
    """Raise SetupError where `spiders` or `pipelines` would not be imported from beside `crawler`."""
    for name in ("spiders", "pipelines"):
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
