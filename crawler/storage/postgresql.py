"""The PostgreSQL backend: a server that many crawls share, through psycopg 3."""

from __future__ import annotations

import logging
import re
from functools import cache, partial
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError

from crawler.errors import StoreError
from crawler.redact import looks_secret
from crawler.storage.backend import Diagnosis, redact_url
from crawler.storage.change_log import Horizon
from crawler.storage.tables import metadata

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    import psycopg
    from sqlalchemy.engine import URL, Connection, Engine

    from crawler.storage.backend import CommitCheck, CrawlFileLock

logger = logging.getLogger(__name__)

_SILENCE_SECONDS = 10.0
"""After this time without an answer, a new connection asks whether the server answers at all."""
_SILENCE_SECONDS_MAX = 25.0
"""After this time without an answer to any connection, a connection is given up."""
_PROBE_SECONDS = 5
"""How long the new connection waits for its own answer."""

_DRIVER = "postgresql+psycopg"
_OLDEST_SERVER = 14  # bit_count
_VERSION_UNIT = 10_000  # the protocol's numbers: 150020 is 15.20

# PostgreSQL numbers the transactions of all databases of a server together.
_SERVER = text(
    "SELECT system_identifier || '/' || oid FROM pg_control_system(), pg_database WHERE datname = current_database()"
)
# The oldest running transaction, the first that has not begun, and the running ones between them.
_SNAPSHOT = text("SELECT CAST(pg_current_snapshot() AS text) AS snapshot, pg_is_in_recovery() AS is_replica")

# A lost server is noticed within a minute, even if the connection was never closed. The URL's own options win.
_CONNECTION = {
    "application_name": "blocksieve",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}

# The transaction's number is in the future (invalid_parameter_value).
UNKNOWN_TRANSACTION = "22023"
_UNREACHABLE = "08001"
# The meaning of a failure and the advice, by SQLSTATE or its class.
_ADVICE = {
    "08": "broke the connection; check the server and the network, and start again",
    _UNREACHABLE: "cannot be reached; check that the server runs, and the host and port in DATABASE_URL",
    "25006": "cannot be written; connect to the primary server, as a user and database that are not read-only",
    "28": "does not let this user in; check user and password in DATABASE_URL, and the server's pg_hba.conf",
    "3D000": "does not exist; create it with `createdb {name}` on its server",
    "40001": "had to undo this because of another writer; start again",
    "40P01": "had to undo this because of another writer; start again",
    "42501": "forbids this user to do that; let a superuser make it the owner of the database and its schema",
    "53100": "is full; free space on the server's disk, and start again",
    "53200": "is out of memory; raise the server's memory, or max_locks_per_transaction where it says so",
    "53300": "takes no more connections; let other programs end, or raise the server's max_connections",
    "55P03": "stayed locked by another process; let its crawl or command end, and start again",
    "57014": "did not answer in time; ask for less, or try again",
    "57P": "was shut down or is starting; start again once the server accepts connections",
    "58": "cannot be read or written; check the server's disk",
    "XX001": "is damaged; restore a backup (`pg_amcheck` tells more)",
    "XX002": "has a damaged index; let its owner run REINDEX",
}
# Failures of the server, the network or another writer that may be over in a moment.
_TRANSIENT_STATES = ("08", "40001", "40P01", "53300", "55P03", "57P")
# A failed connection has no SQLSTATE, only the server's message. One in another language than English counts as
# unreachable, and the message is shown.
_SENTENCES = {
    r"database .* does not exist": "3D000",
    r"password|authentication|pg_hba\.conf|role .* does not exist|no user": "28",
    r"too many (clients|connections)|connection slots": "53300",
    r"starting up|shutting down|in recovery": "57P",
    r"permission denied": "42501",
}


class PostgreSQLBackend:
    """A server, for several machines or many writers."""

    example = "postgresql+psycopg://USER:PASSWORD@HOST/NAME"
    # All statements of a reader see one state; each statement of a writer sees what was committed before it.
    read_options: Mapping[str, Any] = MappingProxyType(
        {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    )
    # None leaves it to the server, which may be read-only on purpose; False would overrule that.
    write_options: Mapping[str, Any] = MappingProxyType(
        {"isolation_level": "READ COMMITTED", "postgresql_readonly": None}
    )

    def open(
        self,
        url: URL,
        *,
        must_exist: bool,  # noqa: ARG002 — the protocol's
        busy_seconds: float,
        query_seconds: float | None,
    ) -> Engine:
        public_url = redact_url(url.render_as_string(hide_password=False))
        if url.drivername not in {"postgresql", _DRIVER}:
            raise StoreError(f"DATABASE_URL is {public_url}; the driver must be psycopg: {self.example}")
        if not url.database:
            raise StoreError(f"DATABASE_URL is {public_url}, which names no database: {self.example}")
        try:
            engine = _engine(url, busy_seconds, query_seconds)
        except ImportError as error:
            raise StoreError(f"PostgreSQL needs a driver: pip install 'blocksieve[postgres]' ({error})") from error
        event.listen(engine, "do_connect", _connect)
        event.listen(engine, "connect", _check_server)
        return engine

    def location(self, url: URL) -> str:
        return redact_url(url.set(drivername=_DRIVER).render_as_string(hide_password=False))

    def size_bytes(self, engine: Engine) -> int:
        with engine.connect() as connection:
            return int(connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)

    def diagnose(self, error: DBAPIError) -> Diagnosis | None:
        state = _state(error)
        known = next((_ADVICE[part] for part in (state, state[:3], state[:2]) if part in _ADVICE), None)
        return None if known is None else Diagnosis(known, state.startswith(_TRANSIENT_STATES))

    def find_damage(self, engine: Engine) -> Diagnosis | None:  # noqa: ARG002 — the protocol's
        return None  # the server reports damage itself

    def erase_deleted(self, engine: Engine) -> None:
        """Erase the deleted rows from the tables; the server's logs and backups keep them as long as they last."""
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            # TRUNCATE would wait for every reader.
            connection.execute(text(f"VACUUM (TRUNCATE FALSE) {', '.join(metadata.tables)}"))

    def make_durable(self, engine: Engine) -> None:
        """Do nothing: with the server's default of synchronous_commit, every commit is durable."""

    def lock_crawl(self, engine: Engine, crawl_id: int) -> CrawlFileLock | None:  # noqa: ARG002 — the protocol's
        return None

    def has_crawl_lock(self, engine: Engine, crawl_id: int) -> bool | None:  # noqa: ARG002 — as above
        return None

    def server(self, connection: Connection) -> str:
        return str(connection.scalar(_SERVER))

    def horizon(self, connection: Connection, sequence: int) -> Horizon:
        row = connection.execute(_SNAPSHOT).one()
        oldest, following, running = row.snapshot.split(":")
        if row.is_replica:  # its snapshots do not list the running transactions
            following, running = oldest, ""
        sequences = (sequence + int(transaction_id) for transaction_id in running.split(",") if transaction_id)
        return Horizon(sequence + int(following), tuple(number for number in sequences if number > 0))

    def sequence_after(self, connection: Connection, last: int) -> int:
        # Older transactions of other databases may still run. Their numbers must not be those of stored changes.
        oldest, _, _ = connection.execute(_SNAPSHOT).one().snapshot.split(":")
        return last - int(oldest) + 1

    def commit_check(self, connection: Connection) -> CommitCheck | None:
        return partial(_was_committed, transaction_id=_transaction_id(connection))


def _transaction_id(connection: Connection) -> str:
    return str(connection.scalar(text("SELECT pg_current_xact_id()::text")))


def _was_committed(connection: Connection, transaction_id: str) -> bool | None:
    try:
        status = connection.scalar(text("SELECT pg_xact_status(CAST(:id AS xid8))"), {"id": transaction_id})
    except DBAPIError as error:
        if _state(error) != UNKNOWN_TRANSACTION:
            raise
        return False  # a replica that was promoted before the transaction reached it
    if status is None:
        raise StoreError(f"the server no longer knows whether transaction {transaction_id} was committed")
    return None if status == "in progress" else status == "committed"


def _engine(url: URL, busy_seconds: float, query_seconds: float | None) -> Engine:
    # Secrets move out of the query: SQLAlchemy hides a password only in its own place.
    public_options = {name: value for name, value in url.query.items() if not looks_secret(name) and name != "options"}
    secret_options = {name: value for name, value in url.query.items() if looks_secret(name)}
    # JIT compilation of a look-up takes longer than the look-up.
    options = f"-c lock_timeout={int(busy_seconds * 1000)} -c jit=off {url.query.get('options', '')}".strip()
    if query_seconds is not None:  # after the URL's own options: of two values the last one counts
        options += f" -c default_transaction_read_only=on -c statement_timeout={max(1, int(query_seconds * 1000))}"
    ours = {name: value for name, value in _CONNECTION.items() if name not in public_options}
    return create_engine(
        url.set(drivername=_DRIVER, query=public_options),
        connect_args=ours | secret_options | {"options": options},
        hide_parameters=True,
    )


def _connect(_dialect: object, _record: object, arguments: list[Any], named: dict[str, Any]) -> Any:
    return _connection_class(is_probe=False).connect(*arguments, **named)


@cache
def _connection_class(*, is_probe: bool) -> type[psycopg.Connection[Any]]:
    """Return the class of our connections, which give up a server that does not answer, or the class of probes."""
    import psycopg  # noqa: PLC0415 — an extra, which SQLite does not need

    class WatchedConnection(psycopg.Connection[Any]):
        def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **named: Any) -> Any:
            return super().wait(_SilenceWatch(self, is_probe=is_probe).drive(gen), *arguments, **named)

    return WatchedConnection


def _is_server_alive(connection: psycopg.Connection[Any]) -> bool:
    """Return True if the server answers a new connection, also if it refuses it."""
    named: dict[str, Any] = {**connection.info.get_parameters(), "connect_timeout": _PROBE_SECONDS}
    if connection.info.password:
        named["password"] = connection.info.password
    try:
        with _connection_class(is_probe=True).connect(**named) as probe:
            probe.execute("SELECT 1")
    except type(connection).OperationalError as error:
        if any(re.search(words, str(error)) for words in _SENTENCES):
            return True
        info = connection.info
        logger.warning("The database %s on %s:%s does not answer (%s)", info.dbname, info.host, info.port, error)
        return False
    return True


class _SilenceWatch:
    """Ends a wait for a server that does not answer.

    A frozen server, or a pooler that is paused, keeps its connections open: the kernel acknowledges what is sent, so no
    timeout of TCP notices it. A statement may take hours on a server that works. So when a connection has been silent
    for a while, another one runs the simplest query. If that gets no answer either, the connection is closed, and the
    caller treats it as lost.
    """

    def __init__(self, connection: psycopg.Connection[Any], *, is_probe: bool) -> None:
        self._connection = connection
        self._is_probe = is_probe
        self._answered_at = self._asked_at = monotonic()

    def drive(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Drive psycopg's generator, which gets a false value at intervals without an answer."""
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    self._answered_at = monotonic()
                else:
                    self._look()
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value

    def _look(self) -> None:
        if self._is_probe:
            if monotonic() - self._answered_at > _PROBE_SECONDS:
                self._give_up()
        elif monotonic() - max(self._answered_at, self._asked_at) > _SILENCE_SECONDS:
            alive = _is_server_alive(self._connection)
            self._asked_at = monotonic()
            if alive:
                self._answered_at = self._asked_at
            elif self._asked_at - self._answered_at > _SILENCE_SECONDS_MAX:
                self._give_up()

    def _give_up(self) -> None:
        self._connection.close()
        raise self._connection.OperationalError(f"no answer for {monotonic() - self._answered_at:.0f} s")


def _check_server(connection: Any, _record: object) -> None:
    version = connection.info.server_version
    encoding = connection.info.parameter_status("server_encoding")
    if version < _OLDEST_SERVER * _VERSION_UNIT:
        connection.close()
        major_version = version // _VERSION_UNIT
        raise StoreError(
            f"the server at DATABASE_URL is PostgreSQL {major_version}; it must be {_OLDEST_SERVER} or newer"
        )
    if encoding != "UTF8":
        name = connection.info.dbname
        connection.close()
        advice = "create one with `createdb -E UTF8 -T template0`"
        raise StoreError(f"the database {name} is encoded in {encoding}; it must be UTF8: {advice}")


def _state(error: DBAPIError) -> str:
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return str(state)
    if not isinstance(error, OperationalError):
        return ""
    states = (state for words, state in _SENTENCES.items() if re.search(words, str(error.orig)))
    return next(states, "08" if error.connection_invalidated else _UNREACHABLE)
