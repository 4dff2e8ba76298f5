"""Our part in every Scrapy project: the choice between packages of one name, and the commands that `scrapy` lists.

A project may have packages that are named like ours, `crawler` or `spiders`, and they come first in it. This module has
a name that no other has, so Scrapy always finds our commands here. It imports nothing of ours before a command is used.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import argparse
    from importlib.machinery import ModuleSpec
    from typing import NoReturn

    from scrapy.settings import BaseSettings

HOME = Path(__file__).parent
"""The folder of our packages."""

# The packages that every command of ours needs; `spiders` and `pipelines` are needed by our own project only.
_NEEDED = ("crawler", "cleaning")
_OVERRIDDEN = ("crawl", "settings")
_ADD_ONS = "crawler.addon"


def gives_way(name: str) -> bool:
    """Import a project's package in place of ours, which is being imported; return False if the project has none.

    The program `scrapy` searches a project's folder last. So it would read our settings and spiders where a project's
    own have the same names.
    """
    spec = _find_in_project(name)
    if spec is None:
        return False
    # The import of our package ends with what stands in sys.modules, as Python's import system promises.
    sys.modules[name] = module_from_spec(spec)
    if spec.loader is not None:
        spec.loader.exec_module(sys.modules[name])
    return True


def hiding_place(name: str) -> Path | None:
    """Return the file or folder that is imported as `name` in place of our package; None if nothing hides it."""
    module = sys.modules.get(name)
    spec = _find_in_project(name) or find_spec(name) if module is None else module.__spec__
    places = [] if spec is None else [*(spec.submodule_search_locations or ()), spec.origin]
    place = Path(str(places[0])) if places else None
    if place is None or (place.exists() and (HOME / name).exists() and place.samefile(HOME / name)):
        return None
    return place


def _find_in_project(name: str) -> ModuleSpec | None:
    """Return the package or module of a Scrapy project; None if no project on the path has it, or it is our own."""
    if "scrapy" not in sys.modules:
        return None
    for folder in map(Path, sys.path):
        if (folder / "scrapy.cfg").is_file() and not (folder / "blocksieve.py").exists():
            spec = PathFinder.find_spec(name, [str(folder)])
            # A folder without a module in it is no package.
            if spec is not None and (spec.loader is not None or any((folder / name).glob("**/*.py"))):
                return spec
    return None


def __getattr__(name: str) -> Any:
    """Return the class of a command, which an entry point names."""
    if name.startswith("_"):
        raise AttributeError(name)
    places = {package: place for package in _NEEDED if (place := hiding_place(package)) is not None}
    if not places:
        return resolve_name(f"crawler.commands.lazy:{name}")
    package, place = next(iter(places.items()))
    sentence = (
        f"{place} hides Blocksieve's package {package!r}, so its commands and add-ons cannot be used here; rename the "
        "package of the project, or uninstall Blocksieve from its environment"
    )
    _hide_add_ons(package, place, sentence)
    if name in _OVERRIDDEN:
        return resolve_name(f"scrapy.commands.{name}:Command")
    return type(name, (_HiddenCommand,), {"sentence": sentence})


def _hide_add_ons(package: str, place: Path, sentence: str) -> None:
    """Let the add-ons in ADDONS say the sentence: any command of Scrapy's may load them."""
    is_theirs = package == "crawler" and PathFinder.find_spec(_ADD_ONS, [str(place)]) is not None
    if is_theirs or _ADD_ONS in sys.modules:
        return
    module = ModuleType(_ADD_ONS)
    for name in ("Blocksieve", "Cleaning"):
        setattr(module, name, type(name, (_HiddenAddOn,), {"sentence": sentence}))
    sys.modules[_ADD_ONS] = module


class _HiddenCommand:
    """Stands for a command that cannot be imported, with all that Scrapy reads of a command before it runs one."""

    sentence: ClassVar[str]
    requires_project = False
    default_settings: ClassVar[dict[str, Any]] = {}

    def syntax(self) -> str:
        return ""

    def short_desc(self) -> str:
        return "(not in this project, which hides a package of Blocksieve)"

    def long_desc(self) -> str:
        return self.sentence

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        pass

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's
        _fail(self.sentence)


class _HiddenAddOn:
    """Stands for an add-on that cannot be imported. Scrapy calls the first method as soon as a command needs one."""

    sentence: ClassVar[str]

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:  # noqa: ARG003 — Scrapy's
        _fail(cls.sentence)


def _fail(sentence: str) -> NoReturn:
    sys.stderr.write(f"scrapy: {sentence}\n")
    sys.exit(2)
