"""`scrapy retry`: queue failed requests again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand
from crawler.config.arguments import resume_command
from crawler.redact import REDACTED
from crawler.storage import crawls
from crawler.storage.database import read_transaction, write_transaction
from crawler.storage.requests import database_now
from crawler.terminal import count_of, expect_no_arguments, format_counters, print_json, print_line, run_command

if TYPE_CHECKING:
    import argparse

    from sqlalchemy.engine import Engine


@dataclass(frozen=True, slots=True)
class _Retried:
    """A crawl with requests that are queued again, and the command that continues it.

    The `masked` arguments and settings hold secrets, which are not stored: the user must give them again.
    """

    crawl_id: int
    spider: str
    arguments: dict[str, Any]
    failed: dict[str, int]
    processes: int
    command: str
    masked: list[str]


class RetryCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "--failed [--spider NAME] [--host HOST] [--outcome WORD] [--dry-run] [--json]"

    def short_desc(self) -> str:
        return "Queue the failed requests of the latest crawls again"

    def long_desc(self) -> str:
        return (
            "Queue the failed requests of the latest crawl of each spider and arguments again, as if they were new, "
            "and print the command that continues that crawl. A process that is already running the crawl makes them "
            "itself, so it is safe to retry at any time."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--failed", action="store_true", help="retry the requests that failed (required)")
        parser.add_argument("--spider", metavar="NAME", help="only crawls of this spider")
        parser.add_argument("--host", help="only requests to this host name")
        parser.add_argument("--outcome", metavar="WORD", help="only requests with this outcome, e.g. download_failed")
        parser.add_argument("--dry-run", action="store_true", help="print what would be queued, and change nothing")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if not opts.failed:
            raise UsageError("the option --failed is required", print_help=False)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_command(lambda: self._retry(opts))

    def _retry(self, opts: argparse.Namespace) -> None:
        chosen = crawls.FailedFilter(opts.spider, opts.host, opts.outcome)
        with self.database() as engine:
            retried = _retried(engine, chosen, dry_run=opts.dry_run)
        if opts.json:
            print_json(retried)
        else:
            _print(retried, dry_run=opts.dry_run)


def _retried(engine: Engine, chosen: crawls.FailedFilter, *, dry_run: bool) -> list[_Retried]:
    with (read_transaction if dry_run else write_transaction)(engine) as connection:
        queues = (crawls.failed_queues if dry_run else crawls.retry_failed)(connection, chosen)
    with read_transaction(engine) as connection:
        busy = {queue.crawl_id: queue.processes for queue in crawls.crawl_queues(connection, database_now(connection))}
    return [
        _Retried(
            crawl_id=queue.crawl_id,
            spider=queue.spider,
            arguments=queue.arguments,
            failed=dict(queue.failed),
            processes=busy.get(queue.crawl_id, 0),
            command=resume_command(queue.spider, queue.arguments, queue.settings or {}),
            masked=[*_masked(queue.arguments), *_masked(queue.settings or {})],
        )
        for queue in queues
    ]


def _masked(values: dict[str, Any]) -> list[str]:
    return [name for name, value in values.items() if REDACTED in str(value)]


def _print(retried: list[_Retried], *, dry_run: bool) -> None:
    if not retried:
        print_line("nothing to retry: no such request failed in the latest crawls")
    for queue in retried:
        number = sum(queue.failed.values())
        queued = "would be queued" if dry_run else "is queued" if number == 1 else "are queued"
        requests = count_of(number, "request")
        print_line(f"crawl {queue.crawl_id}: {requests} {queued} again ({format_counters(queue.failed)})")
        if queue.processes:
            print_line(f"  {count_of(queue.processes, 'running process')} of the crawl will make them")
        else:
            print_line(f"  {queue.command}")
        if queue.masked:
            print_line(f"  {REDACTED} stands for a secret that was not stored: give {', '.join(queue.masked)} again")
