"""Which methods are compared: those asked for, or all that can work on the target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cleaning.declare import did_you_mean
from cleaning.methods import METHODS
from crawler.config import Config
from crawler.errors import CompareError, RenderError
from crawler.fetching.render.browser import Browser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.settings import BaseSettings

    from crawler.compare.templates import Templates

_ONE_PAGE = "needs several pages of a site to learn what repeats; compare a folder of them"


@dataclass(slots=True)
class Plan:
    """The methods to compare in the table's order, and why others are left out."""

    methods: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    browser: Browser | None = None


def read_methods(text: str) -> list[str]:
    """Return the methods of a list with commas, each once. Raises ValueError for an unknown one and an empty list."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in METHODS:
            raise ValueError(f"unknown method {name!r}; {did_you_mean(name, METHODS)}")
    if not names:
        raise ValueError(f"no method is named; known: {', '.join(METHODS)}")
    return list(dict.fromkeys(names))


def browser_for(settings: BaseSettings, max_bytes: int) -> Browser:
    """Return the browser for saved pages, whose scripts run only where that was asked for: most need their site."""
    config = Config.read(settings)
    javascript = settings.get("RENDER_JAVASCRIPT") is not None and config.render_javascript
    return Browser(config.rendering, network=False, javascript=javascript, max_bytes=max_bytes)


def make_plan(asked: Sequence[str] | None, templates: Templates, start_browser: Callable[[], Browser]) -> Plan:
    """Return what is compared; the browser is started only for a method that needs it.

    Without `asked` a method that cannot work here is left out. Raises CompareError or RenderError for one that was
    asked for.
    """
    plan = Plan()
    for name in asked or METHODS:
        try:
            _prepare(plan, name, templates, start_browser)
        except (CompareError, RenderError) as error:
            if asked:
                raise
            plan.left_out[name] = str(error)
        else:
            plan.methods.append(name)
    return plan


def _prepare(plan: Plan, name: str, templates: Templates, start_browser: Callable[[], Browser]) -> None:
    needs = METHODS[name].needs
    if needs == "template" and not templates.possible():
        raise CompareError(f"{name} {_ONE_PAGE}")
    if needs == "layout" and plan.browser is None:
        plan.browser = start_browser()
