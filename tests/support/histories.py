"""Histories that no database would have, for tests with hypothesis."""

from hypothesis import strategies as st

from crawler.schedule import PageKind, VisitHistory


def histories(moments):
    """Return a strategy: histories of any kind, with these moments, whatever the counts and dates say."""
    return st.builds(
        VisitHistory,
        st.text(),
        st.sampled_from(PageKind),
        moments,
        moments,
        moments,
        st.integers(-5, 10**9),
        st.integers(-5, 10**9),
        st.none() | st.dates(),
        st.integers(-5, 10**6),
    )
