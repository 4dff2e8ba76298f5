"""Resolvers for tests: they know names that no resolver knows, and what these resolve to changes."""

from itertools import chain, repeat

from scrapy.resolver import CachingThreadedResolver
from twisted.internet.defer import succeed

ANSWERS = {
    "inside.example": ("127.0.0.2",),
    "rebound.example": ("127.0.0.1", "127.0.0.2"),
}


class Rebinding(CachingThreadedResolver):
    """Gives each of a name's answers once, and the last one from then on; it remembers none."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.answers = {name: chain(answers, repeat(answers[-1])) for name, answers in ANSWERS.items()}

    def getHostByName(self, name, timeout=()):  # noqa: N802 — Twisted's
        return succeed(next(self.answers[name])) if name in self.answers else super().getHostByName(name, timeout)
