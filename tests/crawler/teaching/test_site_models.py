"""Files with the models of sites."""

from datetime import UTC, datetime

import pytest
import taught_site
from scrapy.settings import Settings

from cleaning.teaching.site_model import write_site_models
from crawler.config import Config
from crawler.errors import ConfigError
from crawler.storage import schema
from crawler.storage.database import opened_engine, write_transaction
from crawler.teaching import records
from crawler.teaching.site_models import read_model_file, site_model_reader


def test_a_file_is_read_by_site(tmp_path):
    model = taught_site.site_model()
    path = tmp_path / "models.jsonl"
    path.write_text(write_site_models({"courier.example": model}), "utf-8")
    assert read_model_file(str(path), "SITE_MODELS") == {"courier.example": model.to_json()}


@pytest.mark.parametrize("content", [b"no JSON", b"\xff", b'{"site": "a.example"}'])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "models.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"--site-models is .*models.jsonl', which is no file of site models"):
        read_model_file(str(path), "--site-models")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"SITE_MODELS is '.*nowhere': No such file"):
        read_model_file(str(tmp_path / "nowhere"), "SITE_MODELS")


def test_a_method_without_site_models_is_refused(tmp_path):
    path = tmp_path / "models.jsonl"
    path.write_text(write_site_models({"courier.example": taught_site.site_model()}), "utf-8")
    with pytest.raises(ConfigError, match="CLEANING_METHOD is 'pab': the method 'pab' takes no model of a site"):
        read_model_file(str(path), "SITE_MODELS", "pab")


def test_a_model_is_read_from_the_file_or_else_from_the_database(tmp_path, fresh_url):
    url = fresh_url("sqlite")
    address = taught_site.address(7)
    config = Config.read(Settings({"DATABASE_URL": url}))
    assert site_model_reader(config)(address) is None
    model = taught_site.site_model()
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
        assert site_model_reader(config)(address) is None
        with write_transaction(engine) as connection:
            records.accept_site_model(connection, "courier.example", model, "anna", datetime.now(UTC))
    assert site_model_reader(config)(address).to_json() == model.to_json()
    (tmp_path / "models.jsonl").write_text(write_site_models({"other.example": model}), "utf-8")
    config = Config.read(Settings({"DATABASE_URL": url, "SITE_MODELS": str(tmp_path / "models.jsonl")}))
    assert site_model_reader(config)(address) is None
    assert site_model_reader(config)("https://www.other.example/7").to_json() == model.to_json()


def test_a_file_that_is_no_database_leaves_the_page_untaught(tmp_path, caplog):
    (tmp_path / "blocks.db").write_text("no database " * 1000)
    config = Config.read(Settings({"DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}))
    assert site_model_reader(config)(taught_site.address(7)) is None
    assert "courier.example is cleaned without a model of the site" in caplog.text
