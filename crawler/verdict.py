"""Why a response is no page, and how that travels with the response to the spider middleware."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawler.visit import Outcome

if TYPE_CHECKING:
    from typing import Self

    from scrapy.http import Response

_FLAG = "refused/"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a response that is no page, and a few words on what gave it away."""

    outcome: Outcome
    detail: str

    def mark(self, response: Response) -> None:
        """Write the verdict on the response: among its flags, which Scrapy logs too."""
        response.flags.append(f"{_FLAG}{self.outcome}: {self.detail}")

    @classmethod
    def read(cls, response: Response) -> Self | None:
        """Return the verdict on a response, None for one that was not refused."""
        for flag in response.flags:
            if flag.startswith(_FLAG):
                outcome, _, detail = flag.removeprefix(_FLAG).partition(": ")
                return cls(Outcome(outcome), detail)
        return None
