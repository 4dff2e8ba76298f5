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
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

HOME = Path(__file__).parent
"""The folder of our packages."""

# Scrapy's commands that ours replace.
_OVERRIDDEN = ("crawl", "settings")
_ADD_ONS = "crawler.addon"


def defer_to_project_package(name: str) -> bool:
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
    for package in ("crawler", "cleaning"):
        place = hiding_place(package)
        if place is not None:
            return _stand_in(name, package, place)
    return resolve_name(f"crawler.commands.lazy:{name}")


def _stand_in(name: str, package: str, place: Path) -> Any:
    """Return a command that says which package hides ours. Scrapy loads every command before it runs one."""
    sentence = (
        f"{place} hides Blocksieve's package {package!r}, so its commands and add-ons cannot be used here; rename the "
        "package of the project, or uninstall Blocksieve from its environment"
    )

    def stop(*_: object) -> NoReturn:
        sys.stderr.write(f"scrapy: {sentence}\n")
        sys.exit(2)

    # Any command of Scrapy's may load the add-ons in ADDONS. A project may have a `crawler.addon` of its own.
    is_theirs = package == "crawler" and PathFinder.find_spec(_ADD_ONS, [str(place)]) is not None
    if not is_theirs and _ADD_ONS not in sys.modules:
        add_on = type("HiddenAddOn", (), {"update_pre_crawler_settings": stop})
        sys.modules[_ADD_ONS] = module = ModuleType(_ADD_ONS)
        vars(module).update(Blocksieve=add_on, Cleaning=add_on)
    if name in _OVERRIDDEN:
        return resolve_name(f"scrapy.commands.{name}:Command")
    methods = {
        "short_desc": lambda _: "(not in this project, which hides a package of Blocksieve)",
        "long_desc": lambda _: sentence,
        "add_options": lambda *_: None,
        "process_options": stop,
        "run": stop,
    }
    return type(name, (resolve_name("scrapy.commands:ScrapyCommand"),), methods)
