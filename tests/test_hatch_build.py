"""The build's hook: what it compiles goes into the wheel, and where it cannot, the wheel is pure Python."""

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
    """Build a project with one small module, in that environment; what hatchling is told of the wheel."""
    (tmp_path / "cleaning").mkdir()
    (tmp_path / "cleaning" / "_one.pyx").write_text("def one():\n    return 1\n", "utf-8")
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


@pytest.mark.skipif(
    shutil.which("cc") is None or not HEADERS.exists(), reason="COMPILER: there is none, or no header of Python"
)
def test_a_compiled_module_goes_into_the_wheel_of_this_machine(built):
    data = built(BLOCKSIEVE_PURE="")
    (target,) = data["force_include"].values()
    assert target.startswith("cleaning/_one.")
    assert (data["pure_python"], data["infer_tag"]) == (False, True)


def test_without_a_compiler_the_wheel_is_pure_and_the_build_says_so(built, capfd):
    assert built(BLOCKSIEVE_PURE="", CC="false") == PURE
    assert "built without its compiled core" in "".join(capfd.readouterr())


def test_the_environment_can_ask_for_a_pure_wheel(built, capfd):
    assert built(BLOCKSIEVE_PURE="1") == PURE
    assert "".join(capfd.readouterr()) == ""
