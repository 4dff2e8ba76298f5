"""`scrapy initdb`."""

import json

from crawler.storage.schema import MIGRATIONS


def test_a_database_is_created_in_an_empty_folder(scrapy, tmp_path):
    created = scrapy("initdb")
    assert (created.returncode, created.stderr) == (0, "")
    assert created.stdout == f"created: {tmp_path / 'blocks.db'} (schema {MIGRATIONS.head})\n"
    assert scrapy("initdb").stdout.startswith("ready: ")


def test_the_setting_and_the_environment_name_the_database(scrapy, tmp_path):
    created = scrapy("initdb", "--json", "-s", f"DATABASE_URL=sqlite:///{tmp_path}/set.db")
    assert json.loads(created.stdout) == {"database": f"{tmp_path}/set.db", "schema": MIGRATIONS.head, "created": True}
    assert scrapy("initdb", DATABASE_URL="sqlite:///environment.db").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"set.db", "environment.db"}


def test_a_failure_is_one_sentence_and_an_exit_code(scrapy):
    failed = scrapy("initdb", "-s", "DATABASE_URL=mysql://me:secret@host/db")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.count("\n") == 1
    assert "supported are sqlite:///FILE" in failed.stderr
    assert "secret" not in failed.stderr


def test_tables_are_created_on_a_server(scrapy, new_database):
    url = new_database()
    created = scrapy("initdb", DATABASE_URL=url)
    assert (created.returncode, created.stderr) == (0, "")
    assert created.stdout.startswith("created: postgresql+psycopg://***@")
    assert scrapy("initdb", DATABASE_URL=url).stdout.startswith("ready: ")
    assert scrapy("upgrade", DATABASE_URL=url).stdout.endswith(
        f"the schema is {MIGRATIONS.head} already; nothing was changed\n"
    )


def test_an_unreachable_server_is_one_sentence(scrapy):
    failed = scrapy("initdb", DATABASE_URL="postgresql://me:secret@127.0.0.1:1/blocks")
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)
    assert "cannot be reached; check that the server runs" in failed.stderr
    assert "secret" not in failed.stderr


def test_a_misspelt_setting_is_named(scrapy):
    created = scrapy("initdb", "-s", "DATABASE_URI=sqlite:///x.db")
    assert created.returncode == 0
    assert created.stderr == "DATABASE_URI is not a setting of Blocksieve; did you mean DATABASE_URL?\n"


def test_an_argument_is_an_error(scrapy, tmp_path):
    assert scrapy("initdb", "other.db").returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_all_commands_are_listed_with_a_description(scrapy):
    listed = scrapy().stdout
    for line in (
        "compare       Compare",
        "initdb        Create",
        "prune         Delete",
        "status        Show",
        "upgrade       Migrate",
    ):
        assert line in listed
