"""`clean_many`: many pages in several processes, in order, with the errors of pages as values."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple, Unpack

from cleaning.clean import clean, expect_teachable
from cleaning.errors import OptionError, ProcessError
from cleaning.methods import METHODS
from cleaning.options import CleaningOptions, Options
from cleaning.teaching import find_site_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from cleaning.structure.clean_page import CleanPage
    from cleaning.teaching import SiteModel

_PAGES_PER_TASK = 8
# Tasks for each process that wait or are in work: enough that none is idle while the caller handles a result.
_TASKS_PER_PROCESS = 3


class _SentPage(NamedTuple):
    html: bytes | str
    url: str | None
    site_model: SiteModel | None


def clean_many(
    pages: Iterable[bytes | str | tuple[bytes | str, str | None]],
    *,
    processes: int | None = None,
    method: str = "default",
    structure: bool = True,
    site_models: Mapping[str, SiteModel] | None = None,
    **options: Unpack[CleaningOptions],
) -> Iterator[CleanPage | Exception]:
    """Yield the cleaned pages in the order of `pages`; a page that cannot be cleaned gives its exception.

        if __name__ == "__main__":
            for page in clean_many(zip(bodies, urls)):
                print(page if isinstance(page, Exception) else page.text)

    A page is bytes or text, or such a page with its URL. `processes` is their number, by default one for each
    core; 1 cleans in this process. The pages are read as they are needed, a few ahead. Without
    `structure` a page of another process has no Markdown, HTML, chunks and places, and takes less time. `site_models`
    has what readers corrected, by site (`cleaning.teaching.read_site_models`); the other parameters are those of
    `clean`. A page whose process dies, by a crash or for want of memory, gives ProcessError, and the others go on.

    Raises OptionError at once, as `clean` does, and ProcessError if the processes cannot start.
    """
    chosen = METHODS.find(method)
    if chosen.needs:
        raise OptionError(f"the method {method!r} needs the page's {chosen.needs}, which clean_many cannot give it")
    Options.read(options)
    if site_models:
        expect_teachable(method)
    count = (os.cpu_count() or 1) if processes is None else processes
    if count < 1:
        raise OptionError(f"processes is {processes}; it must be 1 or more")
    work = partial(_clean_pages, method=method, structure=structure, options=options)
    sent = (_sent_page(page, site_models or {}) for page in pages)
    return _clean_here(sent, work) if count == 1 else _clean_in_processes(sent, work, count)


def _sent_page(page: bytes | str | tuple[bytes | str, str | None], site_models: Mapping[str, SiteModel]) -> _SentPage:
    html, url = page if isinstance(page, tuple) else (page, None)
    return _SentPage(html, url, find_site_model(site_models, url) if isinstance(url, str) else None)


def _clean_pages(
    pages: Sequence[_SentPage], *, method: str, structure: bool, options: CleaningOptions
) -> list[CleanPage | Exception]:
    results: list[CleanPage | Exception] = []
    for page in pages:
        try:
            cleaned = clean(page.html, page.url, method=method, site_model=page.site_model, **options)
            results.append(cleaned.detached(structure=structure))
        except Exception as error:  # noqa: BLE001 — the boundary of a page: the caller gets whatever went wrong
            results.append(error)
    return results


def _clean_here(
    pages: Iterable[_SentPage], work: Callable[[Sequence[_SentPage]], list[CleanPage | Exception]]
) -> Iterator[CleanPage | Exception]:
    for page in pages:
        yield from work([page])


def _clean_in_processes(
    pages: Iterator[_SentPage], work: Callable[[Sequence[_SentPage]], list[CleanPage | Exception]], count: int
) -> Iterator[CleanPage | Exception]:
    with _Processes(count, work) as running:
        while task := list(islice(pages, _PAGES_PER_TASK)):
            running.submit(task)
            if len(running.tasks) > count * _TASKS_PER_PROCESS:
                yield from running.take()
        while running.tasks:
            yield from running.take()


class _Processes:
    """Processes that clean pages, and the tasks that they were given, the earliest first."""

    def __init__(self, count: int, work: Callable[[Sequence[_SentPage]], list[CleanPage | Exception]]) -> None:
        self._count = count
        self._work = work
        self.tasks: deque[tuple[Sequence[_SentPage], Future[list[CleanPage | Exception]]]] = deque()
        self._executor = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def submit(self, pages: Sequence[_SentPage]) -> None:
        """Give the processes a task."""
        try:
            future = self._executor.submit(self._work, pages)
        except BrokenProcessPool as error:  # noticed when the task is taken
            future = Future()
            future.set_exception(error)
        self.tasks.append((pages, future))

    def take(self) -> list[CleanPage | Exception]:
        """Return the results of the earliest task. If a process has died, find the page that it died of."""
        pages, future = self.tasks.popleft()
        try:
            return future.result()
        except BrokenProcessPool:
            self._restart()
        results: list[CleanPage | Exception] = []
        for page in pages:
            try:
                results += self._executor.submit(self._work, [page]).result()
            except BrokenProcessPool:
                name = page.url or "a page without a URL"
                results.append(ProcessError(f"the process that cleaned {name} died: it crashed or ran out of memory"))
                self._restart()
        left, self.tasks = self.tasks, deque()
        for waiting, _ in left:
            self.submit(waiting)
        return results

    def _restart(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self._start()

    def _start(self) -> ProcessPoolExecutor:
        # A forked process has the locks of the threads of this one, but not the threads.
        executor = ProcessPoolExecutor(self._count, get_context("spawn"))
        try:
            executor.submit(os.getpid).result()
        except BrokenProcessPool as error:
            raise ProcessError(
                "the processes of clean_many do not start; a script must call it below `if __name__ == '__main__':`"
            ) from error
        return executor
