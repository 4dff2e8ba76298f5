"""Builds the compiled core (`cleaning/_native/*.pyx`); where that fails, the wheel is pure Python."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "cleaning._native"
FOLDER = PACKAGE.replace(".", "/")


class CompiledCore(BuildHookInterface):  # type: ignore[type-arg]  # the hook has no configuration of its own
    """The build hook that hatchling calls; BLOCKSIEVE_PURE=1 in the environment makes a pure wheel."""

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root, FOLDER)
        if version == "editable":  # Python reads the package from the checkout, so modules of an earlier build must go
            for module in (*package.glob("*.so"), *package.glob("*.pyd")):
                module.unlink()
        if os.environ.get("BLOCKSIEVE_PURE", "0") not in {"", "0"}:
            return
        self._folder = tempfile.TemporaryDirectory()
        try:
            modules = _compile(package, Path(self._folder.name))
        except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever is missing, pure Python does the same
            self.app.display_warning(f"Blocksieve is built without its compiled core, and is slower: {error!s:.200}")
            return
        if version == "editable":
            for module in modules:
                (package / module.name).write_bytes(module.read_bytes())
            return
        build_data["force_include"].update({str(module): f"{FOLDER}/{module.name}" for module in modules})
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 — hatchling's
        if self._folder is not None:
            self._folder.cleanup()


def _compile(package: Path, folder: Path) -> list[Path]:
    """Return the compiled modules, in `folder`; raises the errors of Cython, setuptools and the compiler."""
    # Imported here, because the build is pure if one of them is missing.
    import lxml  # noqa: PLC0415
    from Cython.Build import cythonize  # noqa: PLC0415
    from setuptools import Distribution, Extension  # noqa: PLC0415

    headers = lxml.get_include()
    flags = [] if os.name == "nt" else ["-g0"]
    extensions = [
        Extension(f"{PACKAGE}.{source.stem}", [str(source)], include_dirs=headers, extra_compile_args=flags)
        for source in sorted(package.glob("*.pyx"))
    ]
    cythonized = cythonize(extensions, build_dir=str(folder / "c"), include_path=headers, force=True, quiet=True)
    command = Distribution({"ext_modules": cythonized}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "o")
    command.parallel = os.cpu_count()
    command.ensure_finalized()
    command.run()
    return [Path(path) for path in command.get_outputs()]
