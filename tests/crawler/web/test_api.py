"""The description of the API, and answers that are as described."""

import jsonschema
import pytest
from openapi_spec_validator import validate
from web_answers import VIEWS, path_of


@pytest.fixture
def described(ask):
    """The description of the API."""
    return ask("/api/openapi.json").json


def test_the_description_of_the_api_is_valid_and_complete(described):
    validate(described)
    assert set(described["paths"]) == {view.api_path for view in VIEWS}


def test_each_answer_is_as_described(ask, described, view):
    answer = ask("/api/overview" if view.path == "/" else f"/api{path_of(view)}")
    assert answer.status == 200, answer.text
    schema = {"$ref": f"#/components/schemas/{view.answer.__name__}", "components": described["components"]}
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(answer.json)
