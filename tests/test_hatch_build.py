"""The build hook puts compiled modules into the wheel; if it cannot compile, the wheel is pure Python."""

import importlib.util
import shutil
import sysconfig
import tomllib
from pathlib import Path

import pytest
import yaml
from hatchling.bridge.app import Application

ROOT = Path(__file__).parents[1]
HEADERS = Path(sysconfig.get_path("include"), "Python.h")
PURE = {"force_include": {}, "pure_python": True}


@pytest.fixture(scope="module")
def hooks():
    """The build's own module, which no package holds."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def built(tmp_path, monkeypatch, hooks):
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

    def build(**environment):
        monkeypatch.delenv("BLOCKSIEVE_STABLE_ABI", raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        hook = hooks.CompiledCore(str(tmp_path), {}, None, None, str(tmp_path / "dist"), "wheel", Application())
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


@pytest.mark.slow
def test_a_wheel_for_every_python_has_its_core_or_is_not_built(built):
    with pytest.raises((Exception, SystemExit), match="false"):
        built(BLOCKSIEVE_PURE="", BLOCKSIEVE_STABLE_ABI="1", CC="false")


def test_a_release_builds_and_checks_a_wheel_for_every_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheels = project["tool"]["cibuildwheel"]
    oldest = project["project"]["requires-python"].removeprefix(">=").replace(".", "")
    assert wheels["build"][0] == f"cp{oldest}-*"
    assert wheels["environment"] == {"BLOCKSIEVE_STABLE_ABI": "1"}
    command = wheels["test-command"].split()
    checked = [ROOT / part.removeprefix("{project}/") for part in command if part.startswith("{project}/")]
    assert len(checked) == 2
    assert all(path.exists() for path in checked)
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))["jobs"]
    systems = {system.partition("-")[0] for system in jobs["wheels"]["strategy"]["matrix"]["system"]}
    assert systems == {"ubuntu", "macos", "windows"}
    assert set(jobs["publish"]["needs"]) == {"tests", "wheels", "sdist"}


def test_the_environment_can_ask_for_a_pure_wheel(built, capfd):
    assert built(BLOCKSIEVE_PURE="1") == PURE
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize(
    ("origin", "home"),
    [
        ("https://code.example/some/project", "https://code.example/some/project"),
        ("https://code.example:8443/some/project.git/", "https://code.example:8443/some/project"),
        ("https://user:secret@code.example/some/project.git", "https://code.example/some/project"),
        ("git@code.example:some/project.git", "https://code.example/some/project"),
        ("ssh://git@code.example:22/some/project.git", "https://code.example/some/project"),
        ("/home/user/project", None),
        ("../project.git", None),
        ("file:///srv/project.git", None),
        ("https://code.example", None),
    ],
)
def test_the_addresses_of_the_project_are_those_of_its_origin(hooks, tmp_path, origin, home):
    config = tmp_path / "config"
    config.write_text(
        f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {origin}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        '\tfetch = +refs/tags/*:refs/tags/*\n[branch "main"]\n\tremote = origin\n',
        "utf-8",
    )
    urls = hooks.project_urls(config)
    assert urls.get("Repository") == home
    assert all(url.startswith(f"{home}/") for name, url in urls.items() if name != "Repository")


def test_a_folder_that_is_no_checkout_names_no_address(hooks, tmp_path):
    assert hooks.project_urls(tmp_path / ".git" / "config") == {}


@pytest.mark.parametrize("config", [b"url = https://code.example/some/project\n", b"[core]\n\teditor = \xff\n"])
def test_a_configuration_that_cannot_be_read_names_no_address(hooks, tmp_path, config):
    (tmp_path / "config").write_bytes(config)
    assert hooks.project_urls(tmp_path / "config") == {}
