"""A broken setup stops a crawl with one clear sentence and an exit code; what was stored before stays sound."""

import os
import sqlite3
import sys
from textwrap import dedent

import processes
import psycopg
import pytest

SENTENCE = "The ferryman of the northern lake told visitor number {} how many storms he had crossed since his youth. "
KIBIBYTE = 1024
SMALL_BATCHES = ("STORE_BATCH_PAGES=2", "KEEP_HTML=false")


@pytest.fixture(scope="module")
def saved_pages(tmp_path_factory):
    """A replay folder with sixty pages of about 40 kB of text each."""
    folder = tmp_path_factory.mktemp("pages")
    rows = ["file\turl"]
    for page in range(60):
        paragraphs = "".join(
            f"<p>{''.join(SENTENCE.format(f'{page}-{place}-{line}') for line in range(4))}</p>" for place in range(100)
        )
        (folder / f"{page}.html").write_text(f"<html><body><article>{paragraphs}</article></body></html>", "utf-8")
        rows.append(f"{page}.html\thttps://lake.example.org/{page}")
    (folder / "index.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


# An extension that fills the disk once the crawl has begun: no file can grow beyond the limit.
FULL_DISK = f"""
import resource
from scrapy import signals

class FullDisk:
    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        crawler.signals.connect(extension.fill, signal=signals.spider_opened)
        return extension

    def fill(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, ({800 * KIBIBYTE}, {800 * KIBIBYTE}))
"""


def crawl(folder, saved_pages, *settings, run=processes.run):
    command = [sys.executable, "-m", "scrapy", "crawl", "archive", "-s", f"REPLAY={saved_pages}"]
    for setting in settings:
        command += ["-s", setting]
    environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings", "PYTHONPATH": str(folder)}
    return run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("CLEANING_METHOD=defualt", "did you mean 'default'"),
        ('CLEANING_OPTIONS={"max_block": 500}', "did you mean 'max_blocks'"),
        ("CLEANING_PROCESSES=257", "from 0 to 256"),
        ("CLEANING_SECONDS=0", "from 0.05 to 3600"),
        ("DEDUP_DISTANCE=9", "from 0 to 3"),
        ("BLOCKSIEVE_DEDUP_SCOP=site", "did you mean BLOCKSIEVE_DEDUP_SCOPE"),
        ("DATABASE_URL=sqlite:///missing/folder/blocks.db", "missing/folder"),
        ("DATABASE_URL=mysql://user:secret@localhost/blocks", "sqlite"),
        ("DATABASE_URL=postgresql://user:secret@127.0.0.1:1/blocks", "cannot be reached"),
        ("REPLAY=/nowhere/at/all", "/nowhere/at/all"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, saved_pages, setting, says):
    finished = crawl(tmp_path, saved_pages, setting)
    assert finished.returncode == 2, finished.stderr
    assert says in finished.stderr
    assert "Traceback" not in finished.stderr
    assert "secret" not in finished.stderr


def test_a_database_of_a_newer_schema_is_refused(tmp_path, saved_pages):
    with sqlite3.connect(tmp_path / "blocks.db") as database:
        database.execute("create table alembic_version (version_num varchar(32) not null)")
        database.execute("insert into alembic_version values ('9999_from_the_future')")
    database.close()
    finished = crawl(tmp_path, saved_pages)
    assert finished.returncode == 2, finished.stderr
    assert "9999_from_the_future" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("ALTER DATABASE {} SET default_transaction_read_only = on", "cannot be written; connect to the primary"),
        ("UPDATE alembic_version SET version_num = '9999_from_the_future'", "9999_from_the_future"),
        ("UPDATE page SET scheme = 'of another time'", "'of another time'"),
    ],
)
def test_a_server_s_database_that_cannot_be_used_is_refused(tmp_path, saved_pages, new_database, change, says):
    url = new_database()
    few = ("CLOSESPIDER_ITEMCOUNT=2", "CONCURRENT_REQUESTS=1")
    assert crawl(tmp_path, saved_pages, f"DATABASE_URL={url}", *SMALL_BATCHES, *few).returncode == 0
    with psycopg.connect(url) as connection:
        connection.execute(change.format(url.rpartition("/")[2]))
    finished = crawl(tmp_path, saved_pages, f"DATABASE_URL={url}")
    assert finished.returncode == 2, finished.stderr
    assert says in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, saved_pages):
    (tmp_path / "blocks.db").write_bytes(b"a diary, not a database\n" * 100)
    finished = crawl(tmp_path, saved_pages)
    assert finished.returncode == 2, finished.stderr
    assert "not a database" in finished.stderr
    assert (tmp_path / "blocks.db").read_bytes().startswith(b"a diary")


def test_a_full_disk_stops_the_crawl_and_loses_nothing_stored(tmp_path, saved_pages):
    whole = crawl(tmp_path, saved_pages, *SMALL_BATCHES)
    assert whole.returncode == 0, whole.stderr
    (tmp_path / "blocks.db").rename(tmp_path / "whole.db")

    (tmp_path / "full_disk.py").write_text(FULL_DISK, "utf-8")
    full = crawl(tmp_path, saved_pages, *SMALL_BATCHES, 'EXTENSIONS={"full_disk.FullDisk": 1}')
    assert full.returncode == 1, full.stderr
    assert "blocks.db" in full.stderr
    with sqlite3.connect(tmp_path / "blocks.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        counts = dict(database.execute("select page_id, count(*) from page_text group by page_id"))
    database.close()
    assert 0 < len(counts) < 60
    assert set(counts.values()) == {100}

    again = crawl(tmp_path, saved_pages, *SMALL_BATCHES)
    assert again.returncode == 0, again.stderr
    assert texts(tmp_path / "blocks.db") == texts(tmp_path / "whole.db")


HOST_PROJECT = {
    "scrapy.cfg": "[settings]\ndefault = host_settings\n",
    "host_settings.py": """
        SPIDER_MODULES = ["host_spiders"]
        ADDONS = {"crawler.addon.Cleaning": 500}
        PAGES_FROM = ["/story/"]
        EXTENSIONS = {"full_disk.FullDisk": 1}
    """,
    "host_spiders.py": """
        from scrapy import Request, Spider

        class Stories(Spider):
            name = "stories"

            async def start(self):
                for number in range(8):
                    yield Request(f"{self.site}/story/{number}")

            def parse(self, response):
                yield {"url": response.url}
    """,
    "full_disk.py": FULL_DISK,
}


def test_a_disk_that_is_full_at_the_last_batch_of_a_host_project_fails_its_crawl(tmp_path, saved_pages, serve, answer):
    for name, text in HOST_PROJECT.items():
        (tmp_path / name).write_text(dedent(text), "utf-8")
    pages = [(saved_pages / f"{number}.html").read_text("utf-8") for number in range(8)]
    stated = [text.replace("<html>", "<html lang=en>") for text in pages]  # no model of languages is unpacked
    site, _ = serve({f"/story/{number}": answer(text) for number, text in enumerate(stated)})
    # One batch, which is written when the crawl has already finished.
    command = [sys.executable, "-m", "scrapy", "crawl", "stories", "-a", f"site={site}", "-s", "STORE_BATCH_SECONDS=60"]
    full = processes.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert full.returncode == 1, full.stderr
    assert full.stderr.splitlines()[-1].startswith("scrapy crawl: the database failed: ")
    assert "'finish_reason': <FinishReason.STORE_FAILED: 'store_failed'>" in full.stderr
    assert "'item_scraped_count': 8" in full.stderr


def texts(path):
    with sqlite3.connect(path) as database:
        rows = database.execute(
            "select p.url, t.position, t.text from page_text t join page p on p.id = t.page_id order by 1, 2"
        ).fetchall()
    database.close()
    return rows
