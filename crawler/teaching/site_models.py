"""The models of sites that a crawl, or another run over pages, cleans by."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from cleaning.clean import expect_teachable
from cleaning.errors import AnnotationError, OptionError
from cleaning.teaching import load_site_model
from cleaning.teaching.site_model import read_site_models as parse_site_models
from crawler.errors import ConfigError, StoreError, StoreMissingError
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.schema import check_schema
from crawler.teaching.records import read_site_model
from crawler.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cleaning.teaching import SiteModel
    from crawler.config import Config

logger = logging.getLogger(__name__)


def site_model_reader(config: Config) -> Callable[[str], SiteModel | None]:
    """Return the function that gives the model by which a crawl cleans the page of a URL.

    It reads SITE_MODELS, or else the database, if there is one. Raises ConfigError for a bad file.
    """
    if config.site_models:
        models = read_model_file(config.site_models, "SITE_MODELS", config.cleaning_method)
        return lambda url: load_site_model(models.get(site_of(url)))
    return lambda url: load_site_model(_read_stored(config.database_url, site_of(url)))


def _read_stored(database_url: str, site: str) -> str | None:
    try:
        with opened_engine(database_url, must_exist=True) as engine:
            check_schema(engine)
            with read_transaction(engine) as connection:
                return read_site_model(connection, site)
    except StoreMissingError:
        return None
    except StoreError as error:
        logger.warning("%s is cleaned without a model of the site: %s", site, error)
        return None


def read_model_file(path: str, option: str, method: str | None = None) -> Mapping[str, str]:
    """Return the models of a file as JSON, by site; `option` names the setting or option that names the file.

    Raises ConfigError for a file that cannot be read or has something else, and for a `method` that takes no models.
    """
    try:
        if method is not None:
            expect_teachable(method)
        models = parse_site_models(Path(path).expanduser().read_text("utf-8"))
    except OptionError as error:
        raise ConfigError(f"{option} is {path!r}, but CLEANING_METHOD is {method!r}: {error}") from error
    except OSError as error:
        raise ConfigError(f"{option} is {path!r}: {error.strerror}") from error
    except (AnnotationError, UnicodeDecodeError) as error:
        raise ConfigError(f"{option} is {path!r}, which is no file of site models: {error}") from error
    return {site: model.to_json() for site, model in models.items()}
