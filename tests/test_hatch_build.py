"""The build hook puts compiled modules into the wheel; if it cannot compile, the wheel is pure Python."""

import importlib.util
import shutil
import sysconfig
from pathlib import Path

import pytest
from hatchling.bridge.app import Application

ROOT = Path(__file__).parents[1]
HEADERS = Path(sysconfig.get_path("include"), "Python.h")
PURE = {"force_include": {}, "pure_python": True}


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Build a project with two small modules in an environment; return the build data of the wheel."""
    package = tmp_path / "cleaning" / "_native"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "one.pxd").write_text("cdef inline int one_more(int number):\n    return number + 1\n", "utf-8")
    (package / "one.pyx").write_text("def one():\n    return one_more(0)\n", "utf-8")
    (package / "two.pyx").write_text(
        "from cleaning._native.one cimport one_more\n\ndef two():\n    return one_more(1)\n", "utf-8"
    )
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def build(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        hook = module.CompiledCore(str(tmp_path), {}, None, None, str(tmp_path / "dist"), "wheel", Application())
        data = {"force_include": {}, "pure_python": True}
        hook.initialize("standard", data)
        hook.finalize("standard", data, "")
        return data

    return build


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("cc") is None or not HEADERS.exists(), reason="COMPILER: there is none, or no header of Python"
)
def test_compiled_modules_go_into_the_wheel_of_this_machine(built):
    data = built(BLOCKSIEVE_PURE="")
    targets = sorted(data["force_include"].values())
    assert [target.partition(".")[0] for target in targets] == ["cleaning/_native/one", "cleaning/_native/two"]
    assert (data["pure_python"], data["infer_tag"]) == (False, True)


def test_without_a_compiler_the_wheel_is_pure_and_the_build_says_so(built, capfd):
    assert built(BLOCKSIEVE_PURE="", CC="false") == PURE
    assert "built without its compiled core" in "".join(capfd.readouterr())


def test_the_environment_can_ask_for_a_pure_wheel(built, capfd):
    assert built(BLOCKSIEVE_PURE="1") == PURE
    assert "".join(capfd.readouterr()) == ""
