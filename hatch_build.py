"""The parts of a build that are ours: the compiled core, and the project's addresses.

The core are the modules `cleaning/_native/*.pyx`. Where they cannot be compiled, the wheel is pure Python.
"""

from __future__ import annotations

import os
import re
import tempfile
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKAGE = "cleaning._native"
FOLDER = PACKAGE.replace(".", "/")
# The oldest Python of pyproject.toml. Modules that keep to its stable interface run on every later one.
STABLE_ABI = ("cp311", "0x030B0000")
# https://host/owner/name.git, ssh://git@host:22/owner/name.git and git@host:owner/name.git; never a user or password.
ORIGIN = re.compile(
    r"(?:https://(?:[^/@]*@)?(?P<site>[^/@]+)/|ssh://(?:[^/@]*@)?(?P<host>[^/:@]+)(?::\d+)?/|[\w.-]+@(?P<short>[\w.-]+):)"
    r"(?P<path>[^?#]+?)(?:\.git)?/?"
)


class CompiledCore(BuildHookInterface):  # type: ignore[type-arg]  # the hook has no configuration of its own
    """The build hook that hatchling calls.

    BLOCKSIEVE_PURE=1 in the environment makes a pure wheel. BLOCKSIEVE_STABLE_ABI=1 makes one wheel for every Python
    from 3.11 on, which is a few per cent slower than one for this Python; there, a compiler that fails is an error.
    """

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root, FOLDER)
        if version == "editable":  # Python reads the package from the checkout, so modules of an earlier build must go
            for module in (*package.glob("*.so"), *package.glob("*.pyd")):
                module.unlink()
        if _is_set("BLOCKSIEVE_PURE"):
            return
        self._folder = tempfile.TemporaryDirectory()
        stable = _is_set("BLOCKSIEVE_STABLE_ABI")
        try:
            modules = _compile(package, Path(self._folder.name), stable)
        except (Exception, SystemExit) as error:  # whatever is missing, pure Python does the same
            if stable:
                self._folder.cleanup()
                raise
            self.app.display_warning(f"Blocksieve is built without its compiled core, and is slower: {error!s:.200}")
            return
        if version == "editable":
            for module in modules:
                (package / module.name).write_bytes(module.read_bytes())
            return
        build_data["force_include"].update({str(module): f"{FOLDER}/{module.name}" for module in modules})
        build_data["pure_python"] = False
        if stable:
            build_data["tag"] = f"{STABLE_ABI[0]}-abi3-{self._platform()}"
        else:
            build_data["infer_tag"] = True

    def _platform(self) -> str:
        tag: str = WheelBuilder(self.root).get_best_matching_tag()
        return tag.rpartition("-")[2]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 — hatchling's
        if self._folder is not None:
            self._folder.cleanup()


class ProjectUrls(MetadataHookInterface):
    """The hook that gives the project's addresses: those of the repository that the checkout was cloned from.

    A fork therefore names itself. Without a remote `origin` on the web there are none. A source archive has the
    addresses of the checkout that it was made from.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["urls"] = project_urls(Path(self.root, ".git", "config"))


def project_urls(git_config: Path) -> dict[str, str]:
    """Return the addresses of a checkout's repository, issues and changes by their names, from git's configuration."""
    config = ConfigParser(strict=False, allow_no_value=True, interpolation=None)
    try:
        config.read(git_config, "utf-8")
    except (ConfigParserError, UnicodeDecodeError):  # git reads more than this parser; a build needs no address
        return {}
    origin = ORIGIN.fullmatch(config.get('remote "origin"', "url", fallback=None) or "")
    if origin is None:
        return {}
    home = f"https://{origin['site'] or origin['host'] or origin['short']}/{origin['path']}"
    return {"Repository": home, "Issues": f"{home}/issues", "Changelog": f"{home}/blob/HEAD/CHANGELOG.md"}


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in {"", "0"}


def _compile(package: Path, folder: Path, stable: bool) -> list[Path]:
    """Return the compiled modules, in `folder`; raises the errors of Cython, setuptools and the compiler."""
    # Imported here, because the build is pure if one of them is missing.
    import lxml  # noqa: PLC0415
    from Cython.Build import cythonize  # noqa: PLC0415
    from setuptools import Distribution, Extension  # noqa: PLC0415

    headers = lxml.get_include()
    flags = [] if os.name == "nt" else ["-g0"]
    root = package.parents[1]
    extensions = [
        Extension(
            f"{PACKAGE}.{source.stem}",
            [str(source)],
            include_dirs=headers,
            extra_compile_args=flags,
            define_macros=[("Py_LIMITED_API", STABLE_ABI[1])] if stable else [],
            py_limited_api=stable,
        )
        for source in sorted(package.glob("*.pyx"))
    ]
    cythonized = cythonize(
        extensions,
        build_dir=str(folder / "c"),
        include_path=[str(root), *headers],
        # Annotations are for readers and mypy. As types of C they would refuse what Python takes.
        compiler_directives={"annotation_typing": False, "language_level": 3},
        force=True,
        quiet=True,
    )
    command = Distribution({"ext_modules": cythonized}).get_command_obj("build_ext")
    command.build_lib = str(folder / "lib")
    command.build_temp = str(folder / "o")
    command.parallel = os.cpu_count()
    command.ensure_finalized()
    command.run()
    return [Path(path) for path in command.get_outputs()]
