"""Whole crawls into PostgreSQL: the same as into SQLite, through outages, kills and full disks."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import processes
import psycopg
import pytest
from cluster import Cluster, programs
from followed import following
from sqlalchemy import text

from crawler.demo import run
from crawler.storage import schema
from crawler.storage.database import opened_engine, read_transaction

SENTENCE = "The ferryman of the northern lake told visitor number {} how many storms he had crossed since his youth. "
PAGES = 60
PIPELINES = json.dumps(
    {"pipelines.clean.CleanPipeline": 1, "pipelines.dedup.DedupPipeline": 2, "pipelines.store.StorePipeline": 3}
)
COUNTED = ("blocks/", "dedup/", "store/", "visit/")


@pytest.fixture
def on_private(private_server):
    """Create an empty database on the private server and return its URL."""
    return lambda name, more="": create(private_server, name, more)


def create(server, name, more=""):
    if not server.is_running():
        server.start()
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 {more}")
    return server.url.removesuffix("postgres") + name


@pytest.fixture(scope="module")
def saved_pages(tmp_path_factory):
    """A replay folder; the second half of the pages repeats texts of the first."""
    folder = tmp_path_factory.mktemp("pages")
    rows = ["file\turl"]
    for page in range(PAGES):
        seeds = [f"{page % (PAGES // 2)}-{place}-{line}" for place in range(60) for line in range(4)]
        paragraphs = "".join(
            f"<p>{''.join(map(SENTENCE.format, seeds[first : first + 4]))}</p>" for first in range(0, len(seeds), 4)
        )
        (folder / f"{page}.html").write_text(f"<html><body><article>{paragraphs}</article></body></html>", "utf-8")
        rows.append(f"{page}.html\thttps://lake.example.org/{page}")
    (folder / "index.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


@pytest.fixture
def start(tmp_path, saved_pages):
    """Start a crawl of the saved pages; its log is the file `log` of the test's folder."""
    return lambda url, **settings: crawl_pages(saved_pages, tmp_path, url, settings)


@pytest.fixture(scope="module")
def undisturbed(private_server, saved_pages, tmp_path_factory):
    """What a crawl that nothing happens to leaves in its database."""
    url = create(private_server, "undisturbed")
    with crawl_pages(saved_pages, tmp_path_factory.mktemp("undisturbed"), url, {}) as crawl:
        assert crawl.wait() == 0, crawl.stderr.read()
    return contents(url)


def crawl_pages(pages, folder, url, settings):
    command = [sys.executable, "-m", "scrapy", "crawl", "archive", "-s", f"REPLAY={pages}"]
    command += ["-s", f"DATABASE_URL={url}", "-s", "STORE_BATCH_PAGES=2", "-s", f"LOG_FILE={folder / 'log'}"]
    for name, value in ({"PROGRESS": "off", "CONCURRENT_REQUESTS": 2} | settings).items():
        command += ["-s", f"{name}={value}"]
    environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    return processes.start(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def contents(url):
    """What a database holds, and what its last crawl counted."""
    with opened_engine(url) as engine, read_transaction(engine) as connection:
        texts = text("SELECT p.url, t.position, t.text FROM page_text t JOIN page p ON p.id = t.page_id")
        stored = text("SELECT count(*), count(DISTINCT fingerprint) FROM block WHERE fingerprint IS NOT NULL")
        blocks, distinct = connection.execute(stored).one()
        assert blocks == distinct
        totals_text = connection.scalar(text("SELECT totals FROM crawl ORDER BY id DESC LIMIT 1"))
        totals = json.loads(totals_text) if isinstance(totals_text, str) else totals_text
        counts = {name: number for name, number in totals.items() if name.startswith(COUNTED)}
        return sorted(map(tuple, connection.execute(texts))), blocks, counts


def wait_until(condition, process, seconds=60):
    end = monotonic() + seconds
    while not condition():
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            pytest.fail(f"the crawl ended: {process.stderr.read()}")
        assert monotonic() < end


def stored_pages(url):
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('page')").fetchone() == (None,):
            return 0
        return connection.execute("SELECT count(*) FROM page").fetchone()[0]


def logged(path, words):
    return path.exists() and words in path.read_text("utf-8")


def test_a_server_stopped_and_started_in_mid_crawl_costs_nothing(
    private_server, on_private, start, undisturbed, tmp_path
):
    disturbed = on_private("disturbed")
    with start(disturbed) as crawl:
        for mode, pages in (("immediate", 8), ("fast", 24)):
            wait_until(lambda least=pages: stored_pages(disturbed) >= least, crawl)
            (tmp_path / "log").write_text("")
            private_server.stop(mode)
            wait_until(lambda: logged(tmp_path / "log", "trying again for up to 300 s"), crawl)
            private_server.start()
        assert crawl.wait() == 0, crawl.stderr.read()
    assert logged(tmp_path / "log", "The database is back after")
    assert contents(disturbed) == undisturbed
    assert len({url for url, _, _ in contents(disturbed)[0]}) == PAGES


@pytest.fixture
def durable():
    """Return a function that makes a server which syncs what it commits, or a streaming replica of one."""
    try:
        programs()
    except SystemExit as error:
        pytest.skip(f"{error}; the server at BLOCKSIEVE_POSTGRES is not ours to stop")
    clusters = []

    def make(primary=None):
        cluster = Cluster(tempfile.mkdtemp(prefix="blocksieve-"))
        clusters.append(cluster)
        if primary is None:
            cluster.create("fsync = on\n")
        else:
            cluster.create_replica(primary)
        cluster.start()
        return cluster

    yield make
    for cluster in clusters:
        cluster.remove()


def test_a_server_that_fails_five_times_in_mid_crawl_loses_no_commit(durable, start, undisturbed, tmp_path):
    server = durable()
    url = create(server, "failing")
    with start(url) as crawl:
        for pages in (4, 14, 24, 34, 44):
            wait_until(lambda least=pages: stored_pages(url) >= least, crawl)
            stored = set(contents_of_pages(url))
            (tmp_path / "log").write_text("")
            server.stop("immediate")
            wait_until(lambda: logged(tmp_path / "log", "trying again for up to 300 s"), crawl)
            server.start()
            assert stored <= set(contents_of_pages(url))
            assert set(contents_of_pages(url).values()) == {60}
        assert crawl.wait() == 0, crawl.stderr.read()
    assert contents(url) == undisturbed


@pytest.mark.parametrize("synchronous", [True, False], ids=["synchronous", "asynchronous"])
def test_a_replica_that_is_promoted_in_mid_crawl_takes_over(durable, start, undisturbed, tmp_path, synchronous):
    """Without synchronous replication the last pages may be lost: their leases end, and they are crawled again."""
    primary = durable()
    replica = durable(primary)
    if synchronous:
        with psycopg.connect(primary.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
    url = create(primary, "moving")
    hosts = "&".join(f"host={server.url.partition('@')[2].partition('/')[0]}" for server in (primary, replica))
    both = f"postgresql+psycopg://postgres@/moving?{hosts}&target_session_attrs=read-write"
    settings = {"DATABASE_URL": both, "FRONTIER_LEASE_SECONDS": 5, "FRONTIER_MAX_ATTEMPTS": 9}
    with start(url, **settings) as crawl:
        wait_until(lambda: stored_pages(url) >= 20, crawl)
        stored = set(contents_of_pages(url))
        (tmp_path / "log").write_text("")
        primary.stop("immediate")
        wait_until(lambda: logged(tmp_path / "log", "trying again for up to 300 s"), crawl)
        replica.promote()
        moved = replica.url.removesuffix("postgres") + "moving"
        assert set(contents_of_pages(moved).values()) == {60}
        if synchronous:
            assert stored <= set(contents_of_pages(moved))
        assert crawl.wait() == 0, crawl.stderr.read()
    assert logged(tmp_path / "log", "The database is back after")
    assert contents(moved)[:2] == undisturbed[:2]


def test_ctrl_c_ends_a_crawl_that_waits_for_its_database(private_server, on_private, start, tmp_path):
    url = on_private("interrupted")
    with start(url) as crawl:
        wait_until(lambda: stored_pages(url) >= 4, crawl)
        private_server.stop("immediate")
        wait_until(lambda: logged(tmp_path / "log", "trying again for up to 300 s"), crawl)
        crawl.send_signal(signal.SIGINT)
        assert crawl.wait(600) == 130
        assert "SIGINT stopped the crawl before its end; the database failed" in crawl.stderr.read()
    log = (tmp_path / "log").read_text("utf-8")
    assert "The crawl ended (store_failed)" in log  # its last pages are not stored
    assert "Traceback" not in log
    private_server.start()
    assert 4 <= stored_pages(url) < PAGES


def test_a_waiting_crawl_stops_fetching(private_server, on_private, crawl, serve, answer):
    """What is fetched waits in memory: about 5 MB of it, not all of 50."""
    paths = [f"/news/{n}-a-story-about-the-river" for n in range(10_000, 10_100)]
    listing = "".join(f'<a href="{path}">A story about the river {path[6:11]}</a>' for path in paths)
    story = answer(f"<article><p>{SENTENCE.format(1)}</p></article><!-- {'-' * 500_000} -->")
    site, requests = serve({"/": answer(listing)} | dict.fromkeys(paths, story))
    url = on_private("waiting")
    settings = {"DATABASE_URL": url, "ITEM_PIPELINES": PIPELINES, "STORE_BATCH_PAGES": 2, "DATABASE_WAIT_SECONDS": 8}

    def stop():
        while stored_pages(url) < 4:
            sleep(0.05)
        private_server.stop("immediate")

    stopper = Thread(target=stop)
    stopper.start()
    crawled = crawl("section", {"url": f"{site}/"}, settings)
    stopper.join()
    assert crawled.code == 1
    assert "waited 8 s of DATABASE_WAIT_SECONDS=8" in crawled.log
    assert 4 <= len(requests) < 50


def test_a_bounded_wait_ends_with_one_sentence(private_server, on_private, start, tmp_path):
    url = on_private("given_up")
    with start(url, DATABASE_WAIT_SECONDS=0.5) as crawl:
        wait_until(lambda: stored_pages(url) >= 4, crawl)
        private_server.stop("fast")
        assert crawl.wait(600) == 1
        assert "DATABASE_WAIT_SECONDS=0.5" in crawl.stderr.read()
    assert logged(tmp_path / "log", "Spider closed (store_failed)")


def test_a_frozen_server_ends_a_crawl(private_server, on_private, start, tmp_path):
    """It accepts connections and does not answer: that is noticed after half a minute at the latest."""
    url = on_private("silent")
    with start(url, DATABASE_WAIT_SECONDS=1) as crawl:
        wait_until(lambda: stored_pages(url) >= 4, crawl)
        with private_server.frozen():
            assert crawl.wait(600) == 1
        assert "DATABASE_WAIT_SECONDS=1" in crawl.stderr.read()
    assert logged(tmp_path / "log", "does not answer")
    assert logged(tmp_path / "log", "Spider closed (store_failed)")
    assert 4 <= stored_pages(url) < PAGES


def test_killed_crawls_leave_whole_pages_and_the_next_one_completes_them(on_private, start, undisturbed):
    killed = on_private("killed")
    for pages in (6, 20):
        with start(killed, FRONTIER_LEASE_SECONDS=3, FRONTIER_MAX_ATTEMPTS=9) as crawl:
            wait_until(lambda least=pages: stored_pages(killed) >= least, crawl)
            crawl.kill()
        texts = contents_of_pages(killed)
        assert set(texts.values()) == {60}
    with start(killed, FRONTIER_LEASE_SECONDS=3, FRONTIER_MAX_ATTEMPTS=9) as crawl:
        assert crawl.wait() == 0, crawl.stderr.read()
    assert contents(killed)[:2] == undisturbed[:2]


def contents_of_pages(url):
    with psycopg.connect(url) as connection:
        return dict(connection.execute("SELECT page_id, count(*) FROM page_text GROUP BY page_id").fetchall())


@pytest.fixture
def small_disk():
    """A disk of 24 MB, which only root can make."""
    folder = Path(tempfile.mkdtemp(prefix="blocksieve-disk-"))
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=0777", "tmpfs", folder], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        folder.rmdir()
        pytest.skip("no small disk can be mounted: that takes root")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
    folder.rmdir()


def test_a_full_disk_ends_the_crawl_and_loses_nothing_stored(private_server, on_private, start, small_disk):
    space = small_disk / "space"
    space.mkdir()
    owner = private_server.folder.stat()
    os.chown(space, owner.st_uid, owner.st_gid)
    with psycopg.connect(private_server.url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{space}'")
    url = on_private("too_large", "TABLESPACE small")
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
    reserve = small_disk / "reserve"
    reserve.write_bytes(bytes(4_000_000))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE ballast (words text)")
        while (free := os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize) > 1_000_000:
            rows = 10_000 if free > 4_000_000 else 1_000
            connection.execute("INSERT INTO ballast SELECT repeat('x', 100) FROM generate_series(1, %s)", (rows,))
            connection.execute("CHECKPOINT")
    with start(url, FRONTIER_LEASE_SECONDS=3) as crawl:
        assert crawl.wait() == 1
        said = crawl.stderr.read()
    assert "is full; free space on the server's disk" in said
    reserve.unlink()  # a server without any room may refuse to connect
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE ballast")
    with start(url, FRONTIER_LEASE_SECONDS=3) as crawl:
        assert crawl.wait() == 0, crawl.stderr.read()
    assert set(contents_of_pages(url).values()) == {60}
    with psycopg.connect(private_server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE too_large WITH (FORCE)")
        connection.execute("DROP TABLESPACE small")


def test_the_demo_comes_out_the_same_on_both(new_database, tmp_path):
    databases = (f"sqlite:///{tmp_path / 'blocks.db'}", new_database())
    settings = {"LOG_FILE": str(tmp_path / "log"), "PROGRESS": "off", "CONCURRENT_REQUESTS": "1"}
    with run.run_site() as address:
        for url in databases:
            arguments = {"category": "Food-and-Drink"}
            with following(url) as followers:
                assert run.crawl_site(address, tmp_path / "x", arguments, settings | {"DATABASE_URL": url}) == 0
            assert all(follower.rows == follower.whole and follower.times > 1 for follower in followers)
            assert not logged(tmp_path / "log", "do not add up")
            assert not logged(tmp_path / "log", "Traceback")
    first, second = map(contents, databases)
    assert first[:2] == second[:2]
    # Whether a copy came before its text was template or after depends on the order of the visits.
    for _, _, counts in (first, second):
        counts["dedup"] = counts.pop("dedup/exact", 0) + counts.pop("dedup/boilerplate", 0)
    assert first[2] == second[2]
    assert len({url for url, _, _ in first[0]}) > 10
