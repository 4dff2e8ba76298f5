"""The models of sites that a crawl, or another run over pages, cleans by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cleaning.clean import expect_teachable
from cleaning.errors import AnnotationError, OptionError
from cleaning.teaching.site_model import read_site_models as parse_site_models
from crawler.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


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
