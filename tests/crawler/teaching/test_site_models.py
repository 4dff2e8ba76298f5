"""Files with the models of sites."""

import pytest
import taught_site

from cleaning.teaching.site_model import write_site_models
from crawler.errors import ConfigError
from crawler.teaching.site_models import read_model_file


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
