"""What the JSON says, and what it leaves out."""

from web_answers import path_of


def test_no_secret_is_in_the_json(ask, view):
    assert "secret-1234" not in ask(f"/api{path_of(view)}" if view.path != "/" else "/api/overview").text
