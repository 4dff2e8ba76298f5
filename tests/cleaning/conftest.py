"""The shared pages, where they are at hand; properties are not timed."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

DATA = Path(os.environ.get("BLOCKSIEVE_DATA", Path(__file__).parents[3] / "shared" / "data"))

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def data():
    """Return the folder of the shared data; the test is skipped where there is none."""
    if not DATA.is_dir():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no data at {DATA}")
    return DATA
