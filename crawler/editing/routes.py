"""The addresses of editing. All of them are below `/edit`; what changes something is a POST with the form's key.

The guard (`crawler/web/guard.py`) lets a POST through only below `/edit`, from a page of this server, with the cookie
or the token. The key in each form is the second wall: a page of another site cannot read it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cleaning.errors import AnnotationError
from cleaning.teaching import SiteModel
from crawler.editing.form import MAX_FORM_BYTES, corrected_by, read_fields, read_form, reader_of
from crawler.editing.jobs import JobRefusedError
from crawler.editing.site import read_site_teaching
from crawler.errors import CrawlerError, NotStoredError, QueryError
from crawler.redact import redact_text
from crawler.reports.correction import finish
from crawler.storage.database import write_transaction
from crawler.teaching import records
from crawler.web.app import read_question, tell_errors
from crawler.web.records import PageQuestion, Question, RowNumber

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine
    from starlette.requests import Request

    from crawler.editing.form import PageForm
    from crawler.editing.jobs import Jobs
    from crawler.web.app import Answering, Endpoint
    from crawler.web.render import Renderer

TEMPLATES = "crawler.editing"
"""The package with the templates."""
_MAX_URL_CHARS = 2_000


class JobQuestion(Question, frozen=True):
    """One job."""

    number: RowNumber


class EditConflictError(CrawlerError):
    """Somebody else changed what a form shows."""


_STATUS_OF_ERRORS: dict[type[Exception], HTTPStatus] = {
    EditConflictError: HTTPStatus.CONFLICT,
    JobRefusedError: HTTPStatus.CONFLICT,
    AnnotationError: HTTPStatus.UNPROCESSABLE_ENTITY,
}


class Editor:
    """Answers the requests of editing: it reads as the web page does, writes corrections, and starts jobs."""

    def __init__(self, answering: Answering, renderer: Renderer, engine: Engine, jobs: Jobs) -> None:
        self._answering = answering
        self._renderer = renderer
        self._engine = engine
        self._jobs = jobs

    def routes(self) -> list[Route]:
        """Return the routes of editing."""
        return [
            Route("/edit/pages/{page}", self._told(self._show_page), methods=["GET"]),
            Route("/edit/pages/{page}", self._told(self._store_page), methods=["POST"]),
            Route("/edit/sites/{site}", self._told(self._show_site), methods=["GET"]),
            Route("/edit/sites/{site}", self._told(self._change_site), methods=["POST"]),
            Route("/edit/jobs", self._told(self._show_jobs), methods=["GET"]),
            Route("/edit/jobs", self._told(self._start_job), methods=["POST"]),
            Route("/edit/jobs/{number}", self._told(self._show_job), methods=["GET"]),
            Route("/edit/jobs/{number}", self._told(self._stop_job), methods=["POST"]),
        ]

    async def _show_page(self, request: Request) -> Response:
        page_id = read_question(request, PageQuestion).page
        form = await self._answering.run(lambda: self._read_form(page_id), cleans=True)
        return self._page(request, "correct_page.html.j2", form=form)

    async def _store_page(self, request: Request) -> Response:
        page_id = read_question(request, PageQuestion).page
        fields = await _read_form_fields(request)
        reader = reader_of(fields)

        def store() -> str:
            form = self._read_form(page_id, reader)
            if fields.get("version") != [form.version]:
                raise EditConflictError(
                    "the page, its correction or its site has changed since you opened the form: open it again"
                )
            page = finish(corrected_by(form, fields), finished=fields.get("finished") == ["all"])
            with write_transaction(self._engine) as connection:
                self._expect_unchanged(form, records.read_correction(connection, form.url))
                records.save_correction(connection, replace(page, reader=reader))
            return form.site

        site = await self._answering.run(store, cleans=True)
        return RedirectResponse(f"/edit/sites/{site}", HTTPStatus.SEE_OTHER)

    @staticmethod
    def _expect_unchanged(form: PageForm, stored: Any) -> None:
        """Raise EditConflictError if somebody stored a correction between the reading of the form and now."""
        drafted = datetime.fromisoformat(form.draft.page.corrected_at)
        if stored is not None and datetime.fromisoformat(stored.corrected_at) > drafted:
            raise EditConflictError("somebody has corrected the page meanwhile: open the form again")

    async def _show_site(self, request: Request) -> Response:
        site = request.path_params["site"]
        config = self._answering.config
        teaching = await self._answering.run(lambda: read_site_teaching(self._answering.engine, site, config))
        return self._page(request, "correct_site.html.j2", teaching=teaching)

    async def _change_site(self, request: Request) -> Response:
        site = request.path_params["site"]
        fields = await _read_form_fields(request)
        action = fields.get("action", [""])[-1]
        if action not in {"accept", "withdraw", "forget"}:
            raise QueryError(f"the action is {action[:40]!r}; it is accept, withdraw or forget")

        def change() -> str:
            with write_transaction(self._engine) as connection:
                if action == "accept":
                    model = SiteModel.learn(records.read_corrections(connection, site))
                    if not model.pages:
                        raise NotStoredError(f"no page of {site} is corrected")
                    records.accept_site_model(connection, site, model, reader_of(fields), datetime.now(UTC))
                elif action == "withdraw":
                    records.withdraw_site_model(connection, site)
                else:
                    records.delete_correction(connection, fields.get("url", [""])[-1])
                left = records.read_taught_sites(connection, [site])
            return f"/edit/sites/{site}" if left else f"/sites/{site}"

        return RedirectResponse(await self._answering.run(change), HTTPStatus.SEE_OTHER)

    async def _show_jobs(self, request: Request) -> Response:
        url = request.query_params.get("url", "")[:_MAX_URL_CHARS]
        return self._page(request, "jobs.html.j2", jobs=self._jobs.latest(), url=url)

    async def _start_job(self, request: Request) -> Response:
        fields = await _read_form_fields(request)
        action, url = (fields.get(name, [""])[-1] for name in ("action", "url"))
        job = await self._answering.run(lambda: self._jobs.start(action, url))
        return RedirectResponse(f"/edit/jobs/{job.number}", HTTPStatus.SEE_OTHER)

    async def _show_job(self, request: Request) -> Response:
        job = self._jobs.job(read_question(request, JobQuestion).number)
        # The state is read before the log, so that the log of a job that has ended is whole.
        state = job.state
        log = redact_text(await self._answering.run(job.tail))
        return self._page(request, "job.html.j2", job=job, state=state, log=log)

    async def _stop_job(self, request: Request) -> Response:
        await _read_form_fields(request)
        number = read_question(request, JobQuestion).number
        self._jobs.stop(number)
        return RedirectResponse(f"/edit/jobs/{number}", HTTPStatus.SEE_OTHER)

    def _read_form(self, page_id: int, reader: str = "") -> PageForm:
        return self._answering.read(lambda snapshot: read_form(snapshot, page_id, reader))

    def _page(self, request: Request, template: str, **values: Any) -> Response:
        return Response(self._renderer.edit_page(request, template, values), media_type="text/html")

    def _told(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint with each error told in a sentence."""
        return tell_errors(endpoint, self._renderer.problem, _STATUS_OF_ERRORS)


async def _read_form_fields(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form of this server. Raises QueryError for another one, and for one that is too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise QueryError("this is no form of the page")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM_BYTES:
            raise QueryError(f"the form is larger than {MAX_FORM_BYTES:,} bytes")
    fields = read_fields(body)
    if not request.state.proves_form(fields.get("key", [""])[-1]):
        raise QueryError("the form is of another session: open it again")
    return fields
