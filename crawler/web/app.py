"""The application: each view as a page and as JSON, the original of a page in a frame, and live figures."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from msgspec import ValidationError, convert, json
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from crawler.config import Config
from crawler.errors import CrawlerError, NotStoredError, QueryError, StoreError
from crawler.redact import redact_text
from crawler.storage.database import read_transaction
from crawler.web.api import DESCRIPTION_PATH, describe_api
from crawler.web.guard import FEED_PATH, FRAME_POLICY, Access, Guard
from crawler.web.live import LiveFigures
from crawler.web.records import ChangesQuestion, Problem, Question
from crawler.web.render import Renderer, read_static
from crawler.web.routes import View, make_views
from crawler.web.snapshot import DatabaseSnapshot
from crawler.web.views.changes import read_changes_view
from crawler.web.views.originals import OriginalQuestion, render_original
from crawler.web.views.pages import find_page

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings
    from sqlalchemy.engine import Engine
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from crawler.web.records import ChangesAnswer

logger = logging.getLogger(__name__)

_Asked = TypeVar("_Asked", bound=Question)
_Result = TypeVar("_Result")
Endpoint = Callable[["Request"], Awaitable[Response]]

_THREADS = 4
"""Answers that are made at the same time; further requests wait."""
_CLEANING_WAITING_MAX = 8
"""Requests that wait for the one thread that cleans stored pages. The largest pages take seconds and 300 MB each."""
_YEAR = "public, max-age=31536000, immutable"


class BusyError(CrawlerError):
    """Too many requests wait for stored pages to be cleaned."""


_STATUS_OF_ERRORS: dict[type[Exception], HTTPStatus] = {
    ValidationError: HTTPStatus.BAD_REQUEST,
    NotStoredError: HTTPStatus.NOT_FOUND,
    QueryError: HTTPStatus.BAD_REQUEST,
    StoreError: HTTPStatus.SERVICE_UNAVAILABLE,
    BusyError: HTTPStatus.SERVICE_UNAVAILABLE,
    CrawlerError: HTTPStatus.UNPROCESSABLE_ENTITY,
}


@dataclass(slots=True)
class Answering:
    """Answers requests from a database that it only reads, in threads."""

    engine: Engine
    settings: BaseSettings
    config: Config
    views: list[View] = field(default_factory=make_views)
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_THREADS))
    cleaning: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))
    cleaning_requests: int = 0

    def read(self, work: Callable[[DatabaseSnapshot], _Result]) -> _Result:
        """Return the result of the work on one state of the database."""
        with read_transaction(self.engine) as connection:
            return work(DatabaseSnapshot(connection, datetime.now(UTC), self.config, self.settings))

    async def run(self, work: Callable[[], _Result], *, cleans: bool = False) -> _Result:
        """Run the work in one of the threads; if it `cleans` stored pages, in the one for that.

        Raises BusyError if too many requests wait for the latter.
        """
        if not cleans:
            return await to_thread.run_sync(work, limiter=self.threads, abandon_on_cancel=True)
        if self.cleaning_requests > _CLEANING_WAITING_MAX:
            raise BusyError(
                f"{self.cleaning_requests} requests for the originals of pages wait already: try again in a minute"
            )
        self.cleaning_requests += 1
        try:
            return await to_thread.run_sync(work, limiter=self.cleaning, abandon_on_cancel=True)
        finally:
            self.cleaning_requests -= 1


def make_app(engine: Engine, settings: BaseSettings, access: Access, editing: Editing | None = None) -> ASGIApp:
    """Return the application for a database that exists; `engine` should be one for readers.

    `editing` adds the pages that change something, for an access that `edits`.
    """
    answering = Answering(engine, settings, Config.read(settings))
    renderer = Renderer(answering.views, () if editing is None else (editing.templates,))
    routes = [] if editing is None else editing.make_routes(answering, renderer)
    for view in answering.views:
        routes += [
            Route(view.api_path, tell_errors(_as_json(answering, view), _problem_as_json)),
            Route(view.path, tell_errors(_as_page(answering, renderer, view), renderer.problem)),
        ]
    live = LiveFigures(answering.run, answering.read)
    original = tell_errors(_original(answering), renderer.problem)
    routes += [
        Route(DESCRIPTION_PATH, _description(answering.views)),
        Route(FEED_PATH, tell_errors(_feed(answering, renderer), renderer.problem)),
        Route("/page", tell_errors(_page_at_address(answering), renderer.problem)),
        Route("/pages/{page}/frame", original),
        Route("/live", live.stream),
        Route("/static/{name}", _static),
    ]
    app = Starlette(routes=routes, exception_handlers={404: renderer.missing})
    return Guard(app, access)


@dataclass(frozen=True, slots=True)
class Editing:
    """The pages that change something: the package with their templates, and their routes."""

    templates: str
    make_routes: Callable[[Answering, Renderer], list[Route]]


def _as_page(answering: Answering, renderer: Renderer, view: View) -> Endpoint:
    async def answer(request: Request) -> Response:
        question = read_question(request, view.question)

        def work() -> str:
            return renderer.page(
                request, view, question, answering.read(lambda snapshot: view.read(snapshot, question))
            )

        return Response(await answering.run(work, cleans=question.cleans), media_type="text/html")

    return answer


def _as_json(answering: Answering, view: View) -> Endpoint:
    async def answer(request: Request) -> Response:
        question = read_question(request, view.question)

        def work() -> tuple[bytes, bool]:
            record = answering.read(lambda snapshot: view.read(snapshot, question))
            return json.encode(record), getattr(record, "problem", None) is not None

        body, is_malformed = await answering.run(work, cleans=question.cleans)
        status = HTTPStatus.BAD_REQUEST if is_malformed else HTTPStatus.OK
        return Response(body, status, media_type="application/json")

    return answer


def _original(answering: Answering) -> Endpoint:
    async def answer(request: Request) -> Response:
        question = read_question(request, OriginalQuestion)

        def work() -> str:
            return answering.read(lambda snapshot: render_original(snapshot, question))

        document = await answering.run(work, cleans=question.cleans)
        return Response(document, media_type="text/html", headers={"Content-Security-Policy": FRAME_POLICY})

    return answer


def _feed(answering: Answering, renderer: Renderer) -> Endpoint:
    async def answer(request: Request) -> Response:
        question = read_question(request, ChangesQuestion)

        def work() -> str:
            def read(snapshot: DatabaseSnapshot) -> ChangesAnswer:
                return read_changes_view(snapshot, question)

            return renderer.feed(request, question, answering.read(read))

        return Response(await answering.run(work), media_type="application/atom+xml")

    return answer


def _page_at_address(answering: Answering) -> Endpoint:
    async def answer(request: Request) -> Response:
        url = request.query_params.get("url", "").strip()
        page_id = await answering.run(lambda: answering.read(lambda snapshot: find_page(snapshot.connection, url)))
        return RedirectResponse(f"/pages/{page_id}", HTTPStatus.SEE_OTHER)

    return answer


def _description(views: list[View]) -> Endpoint:
    body = json.encode(describe_api(views))

    async def answer(_request: Request) -> Response:
        return Response(body, media_type="application/json")

    return answer


async def _static(request: Request) -> Response:
    file = read_static().get(request.path_params["name"])
    if file is None:
        return Response("there is no such file", HTTPStatus.NOT_FOUND, media_type="text/plain")
    return Response(file.body, media_type=file.type, headers={"Cache-Control": _YEAR})


def read_question(request: Request, question_type: type[_Asked]) -> _Asked:
    """Return what a request asks for; raises ValidationError, which names the parameter."""
    parameters: dict[str, Any] = {**request.query_params, **request.path_params}
    return convert(parameters, question_type, strict=False)


def tell_errors(
    endpoint: Endpoint,
    tell: Callable[[Request, int, str], Response],
    more_statuses: Mapping[type[Exception], HTTPStatus] = MappingProxyType({}),
) -> Endpoint:
    """Return the endpoint with each error of the user or the database told in a sentence.

    `more_statuses` has errors of the endpoint's own; they are looked up first.
    """
    statuses = {**more_statuses, **_STATUS_OF_ERRORS}

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except tuple(statuses) as error:
            status = next(code for kind, code in statuses.items() if isinstance(error, kind))
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                logger.warning("%s: %s", request.url.path, error)
            return tell(request, status, redact_text(str(error)))

    return answer


def _problem_as_json(_request: Request, status: int, sentence: str) -> Response:
    return Response(json.encode(Problem(problem=sentence)), status, media_type="application/json")
