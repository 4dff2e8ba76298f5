"""A comparison as JSON, written page by page: `scrapy compare --json`."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, TextIO

from crawler.compare.run import Compared, Failure

if TYPE_CHECKING:
    from crawler.compare.figures import Figures
    from crawler.compare.plan import Plan
    from crawler.compare.run import Result
    from crawler.compare.targets import Source, Target

_MS_DIGITS = 3
_SHARE_DIGITS = 4


class JsonWriter:
    """Writes one object: `target`, `methods`, `left_out`, `pages` (one a line), `totals`."""

    def __init__(self, stream: TextIO, target: Target, plan: Plan) -> None:
        self._stream = stream
        self._separator = "\n"
        head = {"target": target.name, "methods": plan.methods, "left_out": plan.left_out}
        stream.write(json.dumps(head)[:-1] + ', "pages": [')

    def add(self, source: Source, found: Compared | Failure) -> None:
        known = {"name": source.name, "url": source.url}
        figures = _failure(found) if isinstance(found, Failure) else _page(found)
        self._stream.write(self._separator + json.dumps(known | figures))
        self._separator = ",\n"

    def finish(self, figures: Figures) -> None:
        self._stream.write('\n], "totals": ' + json.dumps(_totals(figures)) + "}\n")


def _failure(failure: Failure) -> dict[str, Any]:
    return {"failure": {"reason": failure.reason, "message": failure.message}}


def _page(found: Compared) -> dict[str, Any]:
    return {
        "failure": None,
        "encoding": found.page.encoding,
        "parse_warnings": list(found.page.parse_warnings),
        "blocks": len(found.leaves),
        "words": found.words,
        "parse_ms": _ms(found.parse_ms),
        "render_ms": _ms(found.render_ms),
        "methods": {name: _outcome(outcome, found.words) for name, outcome in found.outcomes.items()},
        "agreement": [{"methods": pair, "f1": round(value, _SHARE_DIGITS)} for pair, value in found.agreement.items()],
    }


def _outcome(outcome: Result | Failure, page_words: int) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return _failure(outcome)
    return {
        "failure": None,
        "blocks": len(outcome.judged),
        "kept": len(outcome.kept),
        "words": outcome.words,
        "share": _share(outcome.words, page_words),
        "ms": _ms(outcome.ms),
        "reasons": dict(outcome.reasons),
        "kept_blocks": [{"position": block.position, "path": block.path} for block in outcome.kept],
    }


def _totals(figures: Figures) -> dict[str, Any]:
    names = list(figures.methods)
    return {
        "pages": figures.pages,
        "compared": figures.compared,
        "blocks": figures.blocks,
        "words": figures.words,
        "parse_ms": _ms(sum(figures.parse_ms)),
        "render_ms": _ms(sum(figures.render_ms)) if figures.render_ms else None,
        "parse_warnings": dict(figures.parse_warnings),
        "failures": dict(figures.failures),
        "methods": {
            name: {
                "pages": one.pages,
                "blocks": one.blocks,
                "kept": one.kept,
                "words": one.words,
                "share": _share(one.words, one.page_words),
                "median_ms": _ms(one.median_ms),
                "mean_ms": _ms(one.mean_ms),
                "reasons": dict(Counter(one.reasons).most_common()),
                "failures": dict(one.failures),
            }
            for name, one in figures.methods.items()
        },
        "agreement": [
            {"methods": (one, other), "f1": round(value, _SHARE_DIGITS)}
            for place, one in enumerate(names)
            for other in names[place + 1 :]
            if (value := figures.agreement(one, other)) is not None
        ],
        "most_disagreed": [
            {"name": each.name, "agreement": round(each.agreement, _SHARE_DIGITS)} for each in figures.most_disagreed()
        ],
    }


def _ms(value: float | None) -> float | None:
    return None if value is None else round(value, _MS_DIGITS)


def _share(words: int, page_words: int) -> float | None:
    return round(words / page_words, _SHARE_DIGITS) if page_words else None
