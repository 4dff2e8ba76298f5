"""The exceptions of cleaning: one tree, and an error that crosses process borders."""

import pickle

import cleaning.errors
from cleaning.errors import CleaningError, PageError, PageFault


def test_the_docstring_draws_every_exception():
    exceptions = [kind for kind in vars(cleaning.errors).values() if isinstance(kind, type)]
    names = {kind.__name__ for kind in exceptions if issubclass(kind, CleaningError)}
    assert {name for name in names if name not in cleaning.errors.__doc__} == set()


def test_a_page_error_is_the_same_in_another_process():
    error = pickle.loads(pickle.dumps(PageError(PageFault.FEED, "the page is a feed")))
    assert (error.cause, str(error)) == (PageFault.FEED, "the page is a feed")
