"""`scrapy portals`: list the news sites of the table, and check the table against its evidence and the live sites.

0   the table is valid, and every check passed
1   a value contradicts its evidence, or a live site answers differently
2   wrong usage
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand
from crawler.discovery.portals import ALL_PORTALS, read_portals, select_portals
from crawler.errors import ConfigError
from crawler.reports.portal_check import EvidenceFinding, EvidenceState, SavedPages, check_evidence, check_live
from crawler.terminal import (
    count_of,
    make_console,
    make_table,
    print_error,
    print_json,
    print_line,
    run_printing_command,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from crawler.discovery.portals import Portal
    from crawler.reports.portal_check import LiveAnswer

_DATA = "BLOCKSIEVE_DATA"
_ANSWERS = ("portal", "column", "address", "status", "what it is", "entries")
_COLUMNS = ("portal", "host", "sections", "feeds", "sitemaps", "articles", "language", "evidence")


@dataclass(frozen=True, slots=True)
class _PortalReport:
    """A row of the table with its findings and the answers of its site."""

    portal: Portal
    findings: list[EvidenceFinding]
    answers: list[LiveAnswer]

    def as_json(self) -> dict[str, Any]:
        return {
            "portal": self.portal.name,
            "home": self.portal.start,
            "hosts": self.portal.hosts,
            "sections": self.portal.sections,
            "feeds": self.portal.feeds,
            "sitemaps": self.portal.sitemaps,
            "articles": self.portal.articles.pattern if self.portal.articles else None,
            "language": self.portal.language,
            "findings": self.findings,
            "answers": self.answers,
        }


class PortalsCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[NAME,NAME|HOST|all] [--data FOLDER] [--live] [--json] [-s PORTALS=FILE]"

    def short_desc(self) -> str:
        return "List the known news sites, and check the table"

    def long_desc(self) -> str:
        return (
            "List the table of the spider `news`, including the user's own rows (setting PORTALS). With --data or the "
            f"environment variable {_DATA}, check each value against the saved page or document that its row names as "
            "evidence. With --live, request each address of the table once, as a crawl would."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--data", metavar="FOLDER", help=f"folder with the saved pages, sites/index.tsv; by default {_DATA}"
        )
        parser.add_argument("--live", action="store_true", help="request each address of the table once")
        parser.add_argument("--json", action="store_true", help="print JSON, with every address and finding")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            portals = select_portals(",".join(args) or ALL_PORTALS, read_portals(self.config.portals))
        except ConfigError as error:
            raise UsageError(str(error), print_help=False) from error
        except ValueError as error:
            raise UsageError(f"{','.join(args)!r}: {error}", print_help=False) from error
        self.exitcode = run_printing_command(lambda: self._show(portals, opts))

    def _show(self, portals: Sequence[Portal], opts: argparse.Namespace) -> None:
        folder = opts.data or os.environ.get(_DATA)
        saved = SavedPages(Path(folder)) if folder else None
        assert self.settings is not None  # set by scrapy.cmdline
        answers = check_live(portals, self.settings) if opts.live else []
        reports = [
            _PortalReport(portal, check_evidence(portal, saved) if saved else [], _of(portal, answers))
            for portal in portals
        ]
        if opts.json:
            print_json([report.as_json() for report in reports])
        else:
            _print(reports, checked=saved is not None)
        findings = (
            finding for report in reports for finding in report.findings if finding.state is EvidenceState.WRONG
        )
        wrong = [f"{finding.portal}: {finding.column}: {finding.detail}" for finding in findings]
        wrong += [f"{answer.portal}: {answer.url}: {answer.problem}" for answer in answers if answer.problem]
        if wrong:
            *others, last = wrong
            for sentence in others:
                print_error(sentence)
            raise ConfigError(last)


def _of(portal: Portal, answers: Sequence[LiveAnswer]) -> list[LiveAnswer]:
    return [answer for answer in answers if answer.portal == portal.name]


def _print(reports: Sequence[_PortalReport], *, checked: bool) -> None:
    make_console().print(make_table("Portals", _COLUMNS, [_row(report) for report in reports]))
    if answers := [answer for report in reports for answer in report.answers]:
        rows = [
            [report.portal, report.column, report.url, report.status, report.kind or None, report.entries]
            for report in answers
        ]
        make_console().print(make_table("Answers", _ANSWERS, rows))
    states = Counter(finding.state for report in reports for finding in report.findings)
    checks = ", ".join(f"{states[state]} values {state}" for state in EvidenceState)
    unchecked = f"nothing was checked: name the folder of saved pages with --data or {_DATA}"
    print_line(f"{count_of(len(reports), 'portal')}; {checks if checked else unchecked}")


def _row(report: _PortalReport) -> list[object]:
    portal = report.portal
    counts = [len(addresses) or None for addresses in (portal.sections, portal.feeds, portal.sitemaps)]
    states = {finding.state for finding in report.findings}
    state = next(
        (state for state in (EvidenceState.WRONG, EvidenceState.UNPROVEN, EvidenceState.PROVEN) if state in states),
        None,
    )
    articles = portal.articles.pattern if portal.articles else None
    return [portal.name, portal.host, *counts, articles, portal.language or None, state]
