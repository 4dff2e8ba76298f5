"""PostgreSQL: connections set up, secrets kept, failures explained."""

import logging
import subprocess
import sys

import psycopg
import pytest
from sqlalchemy.engine import make_url

from crawler.errors import StoreError, StoreUnavailableError
from crawler.storage import schema
from crawler.storage.database import (
    database_size_bytes,
    location_of,
    location_of_url,
    open_engine,
    opened_engine,
    read_transaction,
    write_transaction,
)

pytestmark = pytest.mark.postgresql


def test_the_older_form_of_a_url_is_understood(new_database):
    url = new_database()
    assert url.startswith("postgresql://")
    for form in ("postgres://", "postgres+psycopg://"):
        with opened_engine(url.replace("postgresql://", form)) as engine, read_transaction(engine) as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1


def setting(engine, name):
    with write_transaction(engine) as connection:
        return connection.exec_driver_sql(f"SHOW {name}").scalar()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("application_name", "blocksieve"),
        ("lock_timeout", "50ms"),
        ("jit", "off"),
        ("transaction_isolation", "read committed"),
        ("transaction_read_only", "off"),
    ],
)
def test_every_connection_follows_the_rules(engine, name, value):
    assert setting(engine, name) == value


def test_what_the_url_says_wins_and_is_added_to(url):
    with opened_engine(f"{url}?application_name=mine&options=-c%20work_mem%3D8MB") as engine:
        assert (setting(engine, "application_name"), setting(engine, "work_mem")) == ("mine", "8MB")
        assert setting(engine, "lock_timeout") == "30s"


def test_readers_write_nothing(engine):
    with read_transaction(engine) as connection:
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "repeatable read"
    with (
        pytest.raises(StoreError, match="cannot be written; connect to the primary"),
        read_transaction(engine) as connection,
    ):
        connection.exec_driver_sql("DELETE FROM crawl")


def test_rules_of_readers_do_not_stay_with_the_connection(engine):
    with read_transaction(engine):
        pass
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "off"


def test_passwords_are_shown_nowhere(caplog, capsys):
    with caplog.at_level(logging.DEBUG):
        url = "postgresql://me:s3cret@127.0.0.1:1/db?sslpassword=s3cret"
        with opened_engine(url) as engine, pytest.raises(StoreError) as caught, read_transaction(engine):
            pass
    places = f"{location_of(engine)} {location_of_url(url)}"
    output = f"{caught.value} {engine!r} {engine.url!r} {places} {caught.value.__cause__}"
    assert "s3cret" not in output + caplog.text
    assert "127.0.0.1:1/db" in location_of_url(url)


def test_a_password_in_the_query_is_used_and_not_shown(url, server):
    parsed = make_url(url)
    with opened_engine(f"{url}?password=s3cret") as engine:
        assert setting(engine, "application_name") == "blocksieve"
        assert "s3cret" not in repr(engine.url)
        assert engine.url.database == parsed.database


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"port": 1}, "cannot be reached; check that the server runs"),
        ({"host": "no-such-host.invalid"}, "cannot be reached"),
        ({"database": "no such"}, "does not exist; create it with `createdb no such`"),
        ({"username": "no_such"}, "does not let this user in; check user and password"),
    ],
)
def test_a_server_that_cannot_be_used_is_one_sentence(url, change, says):
    with (
        opened_engine(make_url(url).set(**change).render_as_string(hide_password=False)) as engine,
        pytest.raises(StoreError) as caught,
        read_transaction(engine),
    ):
        pass
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_read_only_database_is_read_and_named(url, engine, server):
    name = make_url(url).database
    server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        with opened_engine(url) as fresh:
            schema.check_schema(fresh)
            with pytest.raises(StoreError, match="cannot be written"), write_transaction(fresh) as connection:
                connection.exec_driver_sql("DELETE FROM crawl")
    finally:
        server.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


def test_what_others_lock_is_waited_for_and_then_named(engine, url):
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE crawl")
        with (
            pytest.raises(StoreUnavailableError, match="stayed locked by another process"),
            write_transaction(engine) as connection,
        ):
            connection.exec_driver_sql("DELETE FROM crawl")


def test_a_user_without_rights_is_named(engine, url, server):
    user = make_url(url).database + "_guest"
    server.execute(f"CREATE ROLE {user} LOGIN")
    try:
        guest = open_engine(make_url(url).set(username=user).render_as_string(hide_password=False))
        with pytest.raises(StoreError, match="forbids this user"), write_transaction(guest) as connection:
            connection.exec_driver_sql("DELETE FROM crawl")
        guest.dispose()
    finally:
        server.execute(f"DROP ROLE {user}")


def test_a_database_in_another_encoding_is_refused(server, url):
    name = make_url(url).database + "_latin"
    server.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        latin = open_engine(make_url(url).set(database=name).render_as_string(hide_password=False))
        with pytest.raises(StoreError, match="is encoded in LATIN1; it must be UTF8"), read_transaction(latin):
            pass
        latin.dispose()
    finally:
        server.execute(f"DROP DATABASE {name}")


def test_a_lost_connection_is_named_and_the_next_one_works(engine, server):
    def lose():
        with write_transaction(engine) as connection:
            pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
            server.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(StoreUnavailableError, match="was shut down or is starting"):
        lose()
    assert setting(engine, "application_name") == "blocksieve"


def test_without_the_extra_it_says_what_to_install(url):
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from crawler.storage.database import open_engine\n"
        f"try: open_engine({url!r})\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.startswith("StoreError PostgreSQL needs a driver: pip install 'blocksieve[postgres]'")


def test_its_size_is_known(engine, url):
    assert database_size_bytes(url) > 1_000_000
