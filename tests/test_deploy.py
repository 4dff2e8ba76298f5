"""The files in docs/deploy/ are well-formed, and the commands that they and docs/deploy.md name exist."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from documented import options_of
from sqlalchemy.engine import make_url

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "docs" / "deploy"
SERVICE, TIMER = DEPLOY / "blocksieve-recrawl.service", DEPLOY / "blocksieve-recrawl.timer"
FAILURE = DEPLOY / "blocksieve-failure@.service"
SECONDS = 300


def unit(path):
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string(path.read_text("utf-8"))
    return parser


def crontab_lines():
    lines = (DEPLOY / "crontab").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def jobs():
    return [line for line in crontab_lines() if not re.match(r"[A-Z_]+=", line)]


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


def named_commands():
    """Yield the words after `scrapy` of every command that the files and the page name."""
    yield shlex.split(unit(SERVICE)["Service"]["ExecStart"])[1:]
    for job in jobs():
        yield shlex.split(job)[6:]
    yield compose()["services"]["scrapy"]["command"]
    text = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.splitlines() if language == "shell" else ():
            if match := re.match(r"(?:.* run --rm )?scrapy ([a-z].*)", line):
                yield shlex.split(match[1], comments=True)


def test_every_command_exists_and_has_the_options_that_are_named():
    commands = list(named_commands())
    assert {verb for verb, *_ in commands} == {"crawl", "export", "recrawl", "retry", "sites", "status"}
    assert len(commands) >= 10
    for verb, *words in commands:
        for option in (word for word in words if word.startswith("-")):
            assert option in options_of(verb), (verb, option)


def test_the_service_stops_in_time_and_says_where_it_works():
    service = unit(SERVICE)["Service"]
    assert service["KillMode"] == "mixed"
    assert service["SuccessExitStatus"] == "143"
    assert service["Environment"] == "SCRAPY_SETTINGS_MODULE=crawler.settings"
    assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"
    assert service["ProtectSystem"] == "strict"


def test_a_failed_run_is_reported():
    assert unit(SERVICE)["Unit"]["OnFailure"] == "blocksieve-failure@%n.service"
    assert "%i has failed" in unit(FAILURE)["Service"]["ExecStart"]


def test_the_timer_is_started_with_the_machine_and_is_for_the_service():
    timer = unit(TIMER)
    assert timer["Install"]["WantedBy"] == "timers.target"
    assert timer["Timer"]["Persistent"] == "yes"
    assert TIMER.stem == SERVICE.stem


def test_systemd_takes_the_units(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    program = tmp_path / "scrapy"
    program.touch(mode=0o755)
    for path in (SERVICE, TIMER, FAILURE):
        text = path.read_text("utf-8").replace("/opt/blocksieve/bin/scrapy", str(program))
        (tmp_path / path.name).write_text(text, "utf-8")
    command = ["systemd-analyze", "verify", tmp_path / SERVICE.name, tmp_path / TIMER.name]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    about_ours = [line for line in checked.stderr.splitlines() if "blocksieve" in line]
    assert (checked.returncode, about_ours) == (0, [])


def test_each_job_of_the_crontab_has_a_time_and_fits_on_a_line():
    assert len(jobs()) == 2
    for job in jobs():
        assert re.match(r"(?:(?:\*|\d+) ){5}/opt/blocksieve/bin/scrapy ", job)
        assert "%" not in job  # cron makes a line break of it
        assert len(job) < 999
    variables = dict(line.split("=", 1) for line in crontab_lines() if line not in jobs())
    assert variables["SCRAPY_SETTINGS_MODULE"] == "crawler.settings"
    assert make_url(variables["DATABASE_URL"]).database == "/var/lib/blocksieve/blocks.db"


def test_the_containers_fit_together():
    services = compose()["services"]
    database, scrapy = services["database"], services["scrapy"]
    url = make_url(scrapy["environment"]["DATABASE_URL"])
    assert url.drivername == "postgresql+psycopg"
    assert services.get(url.host) is database
    assert url.username == database["environment"]["POSTGRES_USER"]
    assert url.database == database["environment"]["POSTGRES_DB"]
    assert database["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert scrapy["depends_on"]["database"]["condition"] == "service_healthy"
    volume, place = database["volumes"][0].split(":")
    assert volume in compose()["volumes"]
    assert place == "/var/lib/postgresql/data"
    home = re.search(r"^WORKDIR (/home/.*)$", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)[1]
    (outputs,) = scrapy["volumes"]
    assert outputs.endswith(f":{home}/outputs")


def test_the_image_is_built_of_what_is_there():
    build = compose()["services"]["scrapy"]["build"]
    context = (DEPLOY / build["context"]).resolve()
    dockerfile = context / build["dockerfile"]
    let_in = [line[1:] for line in Path(f"{dockerfile}.dockerignore").read_text("utf-8").split() if line[0] == "!"]
    assert let_in
    assert all((context / name).exists() for name in let_in)
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"research", "tests"}
    assert packages | {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE"} <= set(let_in)
    assert "SCRAPY_SETTINGS_MODULE=crawler.settings" in dockerfile.read_text("utf-8")


def ray_files():
    return [yaml.safe_load((DEPLOY / name).read_text("utf-8")) for name in ("ray-cluster.yaml", "kuberay-job.yaml")]


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_takes_the_files_of_its_clusters():
    """The one by the schema of Ray's launcher, the other by the code with which Ray reads clusters of KubeRay."""
    from ray.autoscaler._private.kuberay import autoscaling_config as kuberay  # noqa: PLC0415 — it takes seconds
    from ray.autoscaler._private.util import prepare_config, validate_config  # noqa: PLC0415 — as above

    cluster, job = ray_files()
    validate_config(prepare_config(cluster))
    spec = job["spec"]["rayClusterSpec"]
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    read = kuberay._derive_autoscaling_config_from_ray_cr({"metadata": {"name": "a", "namespace": "b"}, "spec": spec})
    types = read["available_node_types"]
    assert types["headgroup"]["resources"]["CPU"] == 0
    assert (types["cleaners"]["resources"]["CPU"], types["cleaners"]["max_workers"]) == (16, 4)
    assert cluster["head_node_type"] in cluster["available_node_types"]


def test_the_files_of_ray_clusters_run_the_same_ray_and_a_command_that_exists():
    cluster, job = ray_files()
    verb, *words = job["spec"]["entrypoint"].removeprefix("python -m scrapy ").split()
    assert verb == "batch"
    assert {word for word in words if word.startswith("--")} <= options_of(verb)
    spec = job["spec"]["rayClusterSpec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    images = {group["template"]["spec"]["containers"][0]["image"] for group in groups}
    assert images == {cluster["docker"]["image"]} == {f"rayproject/ray:{spec['rayVersion']}-py311"}
    workers = sum(
        group["replicas"] * int(group["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"])
        for group in spec["workerGroupSpecs"]
    )
    assert words[words.index("--workers") + 1] == str(workers)
    pinned = (ROOT / "requirements" / "full.txt").read_text("utf-8")
    assert f"\nray=={spec['rayVersion']} " in pinned
    assert yaml.safe_load(job["spec"]["runtimeEnvYAML"])["pip"][0] == "blocksieve[cluster]"


def test_scrapyd_finds_the_spiders_by_the_project_s_name(tmp_path):
    shutil.copy(DEPLOY / "scrapyd" / "scrapy.cfg", tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY")}
    listed = subprocess.run(
        [sys.executable, "-m", "scrapy", "list"],
        cwd=tmp_path,
        env=environment | {"SCRAPY_PROJECT": "blocksieve", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert (listed.returncode, listed.stdout.split()) == (0, ["archive", "ezine", "news", "section"]), listed.stderr
