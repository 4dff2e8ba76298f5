"""Answers as HTML: the templates of this package, with the macros and the style sheet of the reports.

Every value that a template prints goes through `crawler.reports.inert_page.inert`: no text of a crawled page becomes
markup.
"""

from __future__ import annotations

import re
import shlex
from base64 import urlsafe_b64encode
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode
from uuid import NAMESPACE_OID, uuid5

from jinja2 import ChoiceLoader, PackageLoader
from msgspec.structs import fields
from starlette.responses import Response

from cleaning.blocks import Reason
from crawler.reading.search_filters import SEARCH_KINDS
from crawler.reports.inert_page import make_environment, read_style
from crawler.web.views.originals import usable_methods

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from starlette.requests import Request

    from crawler.web.records import (
        ChangedPage,
        ChangesAnswer,
        ChangesQuestion,
        DayOfSite,
        Question,
        Record,
        SearchQuestion,
    )
    from crawler.web.routes import View

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_MARKS = re.compile(r"\[([^\]]+)\]\([^)]*\)|`")
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_THOUSAND = 1_000
_CHART_HEIGHT = 100
_BAR_WIDTH = 10
_BAR_MIN = 2.0  # a day with little is no day with nothing
# The tops of an axis, between two powers of ten.
_TOPS = (1, 2, 4, 5, 10)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file for the browser, and the version that its address names."""

    body: bytes
    type: str

    @property
    def version(self) -> str:
        return urlsafe_b64encode(sha256(self.body).digest()[:9]).decode()


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart: its left edge, top and height, and what it says."""

    x: int
    y: float
    height: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The bars of a chart, its width, the values at the top and in the middle of its axis, and labels below it."""

    bars: list[Bar]
    width: int
    top: float
    middle: float
    ends: list[str]


@cache
def read_static() -> Mapping[str, StaticFile]:
    """Return the files below /static, by name."""
    folder = files("crawler.web") / "static"
    style = str(read_style("base.css") + read_style("elements.css")) + (folder / "web.css").read_text("utf-8")
    static_files = {
        "style.css": StaticFile(style.encode(), "text/css"),
        "web.js": StaticFile((folder / "web.js").read_bytes(), "text/javascript"),
        "icon.svg": StaticFile((folder / "icon.svg").read_bytes(), "image/svg+xml"),
    }
    return MappingProxyType(static_files)


class Renderer:
    """Makes pages of answers."""

    def __init__(self, views: Sequence[View], edit_packages: Sequence[str] = ()) -> None:
        packages = ("crawler.web", "crawler.reports", *edit_packages)
        templates = ChoiceLoader([PackageLoader(package) for package in packages])
        self._environment = make_environment(templates)
        self._environment.globals |= {
            "menu": [view for view in views if view.in_menu],
            "versions": {name: file.version for name, file in read_static().items()},
            "methods": usable_methods(),
            "kinds": SEARCH_KINDS,
            "meanings": {reason.value: reason.meaning for reason in Reason},
            "chart_of": make_chart,
            "edits": bool(edit_packages),
            "epoch": datetime.fromtimestamp(0, UTC),
        }
        self._environment.filters |= {
            "by_day": _by_day,
            "bytes": _format_bytes,
            "dict_with": _dict_with,
            "command": shlex.join,
            "duration": _format_duration,
            "grid": change_grid,
            "given": _given_values,
            "language_tag": language_tag,
            "long_day": _long_day,
            "plain": plain_text,
            "query": _query,
            "search_command": search_command,
            "segment": _segment,
            "sentence_time": _sentence_time,
            "urn": _urn,
            "words": _words,
        }

    def page(self, request: Request, view: View, question: Question, answer: Record) -> str:
        """Return the page of an answer."""
        json_address = f"/api{request.url.path}" if request.url.path != "/" else view.api_path
        query = f"?{request.url.query}" if request.url.query else ""
        template = self._environment.get_template(f"{view.name}.html.j2")
        context = _context(request) | {"it": answer, "question": question, "json_address": f"{json_address}{query}"}
        return template.render(context)

    def feed(self, request: Request, question: ChangesQuestion, answer: ChangesAnswer) -> str:
        """Return the Atom feed of an answer; its addresses are those under which the server was asked."""
        template = self._environment.get_template("changes.atom.j2")
        base = str(request.base_url).rstrip("/")
        return template.render(it=answer, question=question, base=base, feed_key=request.state.feed_key)

    def edit_page(self, request: Request, template: str, values: dict[str, Any]) -> str:
        """Return a page on which something can be changed; its forms hold the server's key."""
        context = _context(request) | {"json_address": None, "form_key": request.state.form_key} | values
        return self._environment.get_template(template).render(context)

    def problem(self, request: Request, status: int, sentence: str) -> Response:
        """Return the page that says why there is no answer."""
        context = _context(request) | {"status": status, "sentence": sentence, "json_address": None}
        document = self._environment.get_template("problem.html.j2").render(context)
        return Response(document, status, media_type="text/html")

    def missing(self, request: Request, _error: Exception) -> Response:
        """Return the page for an address that leads nowhere."""
        return self.problem(request, 404, "There is no page at this address.")


def make_chart(values: Sequence[float | None], labels: Sequence[object], unit: str = "") -> Chart:
    """Return a chart with a bar for each value; 0 has no height, and None no value at all."""
    top = axis_top(max((value for value in values if value is not None), default=0), whole=not unit)
    chart_bars = []
    for place, (value, label) in enumerate(zip(values, labels, strict=True)):
        height = 0.0 if not value else max(_BAR_MIN, value / top * _CHART_HEIGHT)
        text = "none" if value is None else f"{value:,.0f}{unit}"
        chart_bars.append(
            Bar(place * _BAR_WIDTH, round(_CHART_HEIGHT - height, 1), round(height, 1), f"{label}: {text}")
        )
    places = sorted({0, len(labels) // 2, len(labels) - 1}) if labels else []
    ends = [str(labels[place]) for place in places]
    return Chart(chart_bars, max(1, len(values)) * _BAR_WIDTH, top, top / 2, ends)


def axis_top(most: float, *, whole: bool = True) -> float:
    """Return the least round number that is not below `most`; a `whole` one has a whole half."""
    least = 2 if whole else 1
    power = 10 ** max(0, len(str(int(most))) - 1)
    return float(max(least, next(top * power for top in _TOPS if top * power >= most)))


@dataclass(frozen=True, slots=True)
class ChangeGrid:
    """The events by site and day: the latest days, and for each of the sites with most events their numbers."""

    days: list[date]
    rows: list[tuple[str, list[DayOfSite | None], int]]
    sites: int

    @property
    def names(self) -> list[str]:
        """The heads of the columns of the days."""
        return [f"#{day:%a} {day.day} {day:%b}" for day in self.days]


def change_grid(days: Sequence[DayOfSite], days_max: int = 7, sites_max: int = 20) -> ChangeGrid:
    """Return the grid of the latest days on which something happened."""
    latest = sorted({row.day for row in days})[-days_max:]
    by_place = {(row.site, row.day): row for row in days if row.day in latest}
    sums: Counter[str] = Counter()
    for (site, _), row in by_place.items():
        sums[site] += row.events
    largest = sums.most_common(sites_max)
    rows = [(site, [by_place.get((site, day)) for day in latest], total) for site, total in largest]
    return ChangeGrid(latest, rows, len(sums))


def _by_day(changes: Sequence[ChangedPage]) -> list[tuple[date, list[tuple[str, list[ChangedPage]]]]]:
    """Return the events by day and site, in the order in which they come."""
    days: dict[date, dict[str, list[ChangedPage]]] = {}
    for change in changes:
        days.setdefault(change.visited.date(), {}).setdefault(change.site, []).append(change)
    return [(day, list(sites.items())) for day, sites in days.items()]


def _long_day(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"


def _urn(name: str) -> str:
    """Return the address of an event that never changes."""
    return uuid5(NAMESPACE_OID, name).urn


def _format_bytes(size: float) -> str:
    """Return a size in its largest unit that makes it one or more, with two digits at least."""
    place = 0
    while size >= _THOUSAND and place < len(_UNITS) - 1:
        size /= _THOUSAND
        place += 1
    return f"{size:,.0f} {_UNITS[place]}" if place == 0 else f"{size:,.1f} {_UNITS[place]}"


def _format_duration(seconds: float) -> str:
    """Return a duration in its two largest units, from days to seconds."""
    left = round(seconds)
    parts: list[str] = []
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or (name == "s" and not parts):
            parts.append(f"{count} {name}")
    return " ".join(parts[:2])


def _given_values(question: Question) -> dict[str, Any]:
    """Return the parameters of a question that were given, without its cursor."""
    return {
        field.name: value
        for field in fields(question)
        if (value := getattr(question, field.name)) != field.default and field.name != "cursor"
    }


def search_command(question: SearchQuestion) -> str:
    """Return the command line of a search."""
    options = [
        (name, value) for name, value in _given_values(question).items() if name not in {"q", "dropped", "before"}
    ]
    words = [question.q] if question.q or question.like is None else []
    words += [word for name, value in options for word in (f"--{name}", str(value))]
    return shlex.join(["scrapy", "search", *words])


def language_tag(language: str | None) -> str:
    """Return a page's language for an attribute `lang`; "" if it is missing or not a language tag."""
    return language if language is not None and _LANGUAGE.fullmatch(language) else ""


def plain_text(markdown: str) -> str:
    """Return the help of a setting without the marks of Markdown."""
    return _MARKS.sub(r"\1", markdown)


def _query(values: Mapping[str, Any]) -> str:
    """Return parameters for an address, without those that are empty."""
    return urlencode({name: value for name, value in values.items() if value not in (None, "")})


def _dict_with(values: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {**values, name: value}


def _context(request: Request) -> dict[str, Any]:
    return {"nonce": request.state.nonce, "feed_key": request.state.feed_key, "path": request.url.path}


def _segment(text: str) -> str:
    """Return a text as a part of a path."""
    return quote(text, safe="")


def _sentence_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _words(name: str) -> str:
    """Return a name of the program, such as a reason, as words."""
    return name.replace("_", " ")
