"""An empty database of either kind."""

import pytest

from crawler.storage import schema
from crawler.storage.database import open_engine


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("new_database")()
    return f"sqlite:///{tmp_path / 'blocks.db'}"


@pytest.fixture
def engine(url):
    engine = open_engine(url)
    schema.prepare_schema(engine)
    yield engine
    engine.dispose()
