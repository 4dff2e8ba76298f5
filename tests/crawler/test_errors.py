"""The exceptions of the crawler: one tree, and an error that names its problem without the advice."""

import crawler.errors
from crawler.errors import CrawlerError, StoreUnavailableError


def test_the_docstring_draws_every_exception():
    names = {kind.__name__ for kind in vars(crawler.errors).values() if isinstance(kind, type)}
    assert {name for name in names if name not in crawler.errors.__doc__} == set()


def test_every_exception_is_one_of_the_crawler():
    kinds = [kind for kind in vars(crawler.errors).values() if isinstance(kind, type)]
    assert all(issubclass(kind, CrawlerError) for kind in kinds)


def test_the_problem_of_a_server_that_is_away_has_no_advice():
    error = StoreUnavailableError("the server is away; start it", "the server is away")
    assert (str(error), error.problem) == ("the server is away; start it", "the server is away")
    assert StoreUnavailableError("the server is away").problem == "the server is away"
