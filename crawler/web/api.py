"""The description of the API in OpenAPI 3.1, made from the questions and answers of the views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import inspect, json

from crawler.web.records import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawler.web.routes import View

VERSION = "1"
DESCRIPTION_PATH = "/api/openapi.json"
_REF = "#/components/schemas/{name}"
_DESCRIPTION = (
    "Everything that the pages of `scrapy serve` show, as JSON. Within a version fields are added, and "
    "never removed or changed. A list ends with `next`: give it as `cursor` to continue; null is the end."
)
# The failures that any question may have.
_PROBLEMS = {
    "400": "A parameter is missing, unknown or malformed.",
    "404": "The database does not hold it.",
    "503": "The database did not answer in time, or cannot be read now.",
}


def describe_api(views: Sequence[View]) -> dict[str, Any]:
    """Return the description of the JSON of all views."""
    _, schemas = json.schema_components([*(view.answer for view in views), Problem], ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Blocksieve", "version": VERSION, "description": _DESCRIPTION},
        "paths": {view.api_path: {"get": _operation(view)} for view in views},
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(view: View) -> dict[str, Any]:
    answer = _REF.format(name=view.answer.__name__)
    problem = {"application/json": {"schema": {"$ref": _REF.format(name=Problem.__name__)}}}
    return {
        "operationId": view.name,
        "summary": view.summary,
        "parameters": _parameters(view),
        "responses": {
            "200": {"description": view.summary, "content": {"application/json": {"schema": {"$ref": answer}}}},
            **{status: {"description": said, "content": problem} for status, said in _PROBLEMS.items()},
        },
    }


def _parameters(view: View) -> list[dict[str, Any]]:
    """Return the parameters of a view: those that its address names are required."""
    fields = inspect.type_info(view.question)
    assert isinstance(fields, inspect.StructType)
    schema = json.schema_components([view.question], ref_template=_REF)[1][view.question.__name__]
    return [_parameter(field.name, schema["properties"][field.name], view) for field in fields.fields]


def _parameter(name: str, schema: dict[str, Any], view: View) -> dict[str, Any]:
    in_path = f"{{{name}}}" in view.path
    parameter = {"name": name, "in": "path" if in_path else "query", "required": in_path, "schema": schema}
    return parameter if (said := schema.get("description")) is None else {**parameter, "description": said}
