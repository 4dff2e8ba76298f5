"""Where the page to explain comes from: a file, standard input, the database, or its site."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from crawler.compare.faults import NoPage
from crawler.compare.fetch import fetch
from crawler.compare.targets import Loaded, is_address, open_target
from crawler.errors import CompareError, StoreError, StoreMissingError
from crawler.storage import schema
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.queries import read_contents
from crawler.urls import without_credentials

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawler.storage.queries import PageContents


class Origin(StrEnum):
    """Where the HTML was taken from."""

    FILE = "file"
    STORED = "stored"
    FETCHED = "fetched"


@dataclass(frozen=True, slots=True)
class Found:
    """The page's HTML, and what the database knows of it: None for a file, and where it is not stored."""

    name: str
    url: str | None
    origin: Origin
    loaded: Loaded
    contents: PageContents | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look for pages: the database, and how much of one is read. `anew` fetches stored pages too."""

    settings: BaseSettings
    database_url: str
    max_bytes: int
    anew: bool = False


def find_page(name: str, url: str | None, place: Place) -> Found:
    """Return the page that a file, `-` or an address names; `url` says where a saved page came from.

    A stored page is read from the database, unless its HTML was not kept. Raises CompareError where there is no page,
    or several.
    """
    if not is_address(name, url):
        return _saved(name, url, place.max_bytes)
    contents = _contents(name, place)
    if contents is not None and contents.html is not None and not place.anew:
        return Found(contents.url, contents.url, Origin.STORED, Loaded(contents.html, contents.encoding), contents)
    (source,) = fetch(name, place.settings).sources
    return Found(source.name, source.url, Origin.FETCHED, source.load(), contents)


def _saved(name: str, url: str | None, max_bytes: int) -> Found:
    target = open_target(name, url, max_bytes)
    if target.several:
        raise CompareError(f"{name!r} may hold many pages; name one of them (scrapy compare shows several)")
    (source,) = target.sources
    try:
        loaded = source.load()
    except NoPage as error:
        raise CompareError(f"{source.name}: {error.reason}: {error}") from error
    return Found(source.name, source.url, Origin.FILE, loaded)


def _contents(url: str, place: Place) -> PageContents | None:
    """Return what is stored of a page; None where nothing is, or no database was ever created."""
    try:
        with opened_engine(place.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            with read_transaction(engine) as connection:
                return read_contents(connection, without_credentials(url))
    except StoreMissingError:
        return None
    except StoreError as error:
        if place.anew:
            return None
        raise CompareError(f"{error}; --fetch explains the page as its site gives it now") from error
