"""What a batch job survives: killed processes and machines, damaged files, a record that hangs or eats memory.

Each job reads its files from a server that holds them back until the test has done its damage. At the end all is there
once, as from a job that nothing happened to, and what is lost is counted.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import processes
import psutil
import pytest
from batch_jobs import rows, settings
from gated_files import SECONDS, gated_files
from warcs import article, paragraph, write_warc

from crawler.batch.job import BatchOptions, run_batch

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
TABLES = ("pages", "blocks", "sightings", "rejected")
FILES, PAGES = 4, 6
SHARED = [paragraph(f"shared {number}") for number in range(5)]


def options(out, inputs, **more):
    arguments = {"settings": settings(), "near_duplicates": True, "workers": 2} | more
    return BatchOptions(inputs=[str(path) for path in inputs], out=str(out), **arguments)


def pages(file):
    """Return the pages of a file: each has a text of its own, one that others have, and one near that of others."""
    for number in range(PAGES):
        near = f"{paragraph('near', 200).removesuffix('.')} {file} {number}"
        shared = SHARED[(file + number) % len(SHARED)]
        texts = (paragraph(f"{file} {number}"), shared, near)
        yield f"https://{'ab'[number % 2]}.example/{file}/{number}", article(f"Number {number}", *texts)


def files_of(out):
    """Return the bytes of every file of the tables."""
    return {path.relative_to(out): path.read_bytes() for table in TABLES for path in sorted((out / table).iterdir())}


@pytest.fixture
def gate(tmp_path):
    folder = tmp_path / "archives"
    folder.mkdir()
    for number in range(FILES):
        write_warc(folder / f"{number}.warc.gz", pages(number))
    with gated_files(folder) as gate:
        yield gate


@pytest.fixture
def inputs(gate):
    return [f"{gate.url}/{number}.warc.gz" for number in range(FILES)]


@pytest.fixture
def expect_all(tmp_path, gate, inputs):
    """Return the check that a job has the tables of one that nothing happened to, byte by byte, and its counts."""

    def check(out, counts):
        gate.open()
        undisturbed = run_batch(options(tmp_path / "undisturbed", inputs, workers=0))
        assert undisturbed.counts["stored/pages"] == FILES * PAGES
        assert undisturbed.counts["stored/exact"] > FILES
        assert undisturbed.counts["stored/near"] > FILES
        assert undisturbed.lost == {}
        assert {**counts, "tasks/restarts": 0} == undisturbed.counts
        assert files_of(out) == files_of(tmp_path / "undisturbed")
        assert not (out / "work").exists()

    return check


def while_it_waits(gate, readers, damage):
    """Do some damage once so many files are being read, then let the readers go on; return its Future."""

    def work():
        try:
            gate.wait(readers)
            damage()
        finally:
            gate.open()

    return ThreadPoolExecutor(1).submit(work)


def tasks_of(process):
    return [child for child in process.children(recursive=True) if "batch.engine" in processes.command_of(child)]


def test_a_killed_process_is_replaced(gate, inputs, tmp_path, expect_all):
    killed = []

    def kill():
        killed.append(tasks_of(psutil.Process())[0])
        killed[0].kill()

    damage = while_it_waits(gate, 2, kill)
    summary = run_batch(options(tmp_path / "out", inputs))
    damage.result()
    assert len(killed) == 1
    assert summary.counts["tasks/restarts"] == 1
    expect_all(tmp_path / "out", summary.counts)


def test_a_killed_cleaning_process_is_replaced(gate, inputs, tmp_path):
    """It has no page yet: nothing is lost."""

    def kill():
        for task in tasks_of(psutil.Process()):
            for cleaner in task.children():
                cleaner.kill()

    damage = while_it_waits(gate, 2, kill)
    summary = run_batch(options(tmp_path / "out", inputs))
    damage.result()
    assert summary.counts["clean/restarts"] == 2
    assert summary.counts["stored/pages"] == FILES * PAGES
    assert summary.lost == {}


def test_a_cleaning_process_that_is_killed_at_its_start_does_not_end_the_job(gate, inputs, tmp_path):
    """The replacement of a killed process is killed too: the task begins again with another one."""
    killed = []

    def cleaners(task):
        return [child for child in task.children() if child.pid not in killed]

    def kill(task):
        while not (processes_to_kill := cleaners(task)):
            pass
        killed.append(processes_to_kill[0].pid)
        processes_to_kill[0].kill()

    def damage():
        (task,) = tasks_of(psutil.Process())
        kill(task)
        gate.open()  # now its next page finds it dead, and another one is started
        kill(task)

    done = while_it_waits(gate, 1, damage)
    summary = run_batch(options(tmp_path / "out", inputs, workers=1))
    done.result()
    assert len(killed) == 2
    assert summary.counts["stored/pages"] == FILES * PAGES
    assert summary.lost == {}


def test_a_job_whose_own_process_was_killed_is_continued(gate, inputs, tmp_path, expect_all):
    """The first file is done, the next are being read. Their processes end with the job."""
    (tmp_path / "first").mkdir()
    first = write_warc(tmp_path / "first/0.warc.gz", pages(0))
    arguments = [str(first), *inputs[1:], "--out", "out", "--near-duplicates", "--workers", "1"]
    job = start_batch(tmp_path, *arguments)
    gate.wait()
    children = psutil.Process(job.pid).children(recursive=True)
    assert len(children) == 2
    job.kill()
    job.communicate()
    assert psutil.wait_procs(children, timeout=SECONDS)[1] == []
    done = sorted(path.name for path in (tmp_path / "out/work/done").iterdir())
    assert done == ["clean-000000.json"]
    assert not (tmp_path / "out/pages").exists()
    gate.open()
    first.write_bytes(b"what is done is not read again")
    refused = start_batch(tmp_path, *arguments)
    assert "add --resume" in refused.communicate()[1]
    continued = start_batch(tmp_path, *arguments, "--resume", "--json")
    output, log = continued.communicate()
    assert continued.returncode == 0, log
    write_warc(first, pages(0))
    counts = json.loads(output)["counts"]
    assert counts["stored/pages"] == FILES * PAGES == len({row["url"] for row in rows(tmp_path / "out", "pages")})
    inputs[0] = str(first)
    expect_all(tmp_path / "out", counts)


def start_batch(folder, *arguments):
    return processes.start(
        [sys.executable, "-m", "scrapy", "batch", "-s", "PROGRESS=off", *arguments],
        cwd=folder,
        env=os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def cluster(monkeypatch):
    """A Ray cluster of a head without cores and two machines with one core each, as processes of this machine."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    # Ray gives up what has not started in a minute, and starts it again.
    monkeypatch.setenv("RAY_worker_register_timeout_seconds", str(SECONDS))
    # Ray's workers give way to every other process, so beside a busy one they take minutes to start.
    monkeypatch.setenv("RAY_worker_niceness", "0")
    from ray.cluster_utils import Cluster  # noqa: PLC0415 — it takes seconds

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


@pytest.mark.filterwarnings("ignore")  # Ray's own, on this machine
def test_ray_gives_the_same_bytes_and_survives_the_loss_of_a_process_and_of_a_machine(
    gate, inputs, tmp_path, cluster, expect_all
):
    """First a process that reads is killed, then a machine with such a process: its tasks move to the other one."""

    def kill():
        children = psutil.Process().children(recursive=True)
        next(child for child in children if "_RayProcess.run" in processes.command_of(child)).kill()
        gate.wait()  # another process reads its file
        import ray  # noqa: PLC0415 — as above

        own = ray._private.worker.global_worker.node._raylet_socket_name
        lost = next(node for node in cluster.worker_nodes if node._raylet_socket_name != own)
        (raylet,) = lost.all_processes["raylet"]
        its_processes = psutil.Process(raylet.process.pid).children(recursive=True)
        cluster.remove_node(lost, allow_graceful=False)
        for process in its_processes:  # they notice the loss only after a while
            with suppress(psutil.NoSuchProcess):
                process.kill()

    damage = while_it_waits(gate, 2, kill)
    summary = run_batch(options(tmp_path / "out", inputs, engine="ray", ray_address=cluster.address))
    damage.result()
    assert summary.counts["tasks/restarts"] == 2
    expect_all(tmp_path / "out", summary.counts)
