"""A news site to crawl, as a portal of the table or as an unknown host."""

import json

import pytest
from news_site import Site


@pytest.fixture
def site(serve, answer):
    return Site(serve, answer)


@pytest.fixture
def news(crawl, site, tmp_path):
    """Crawl the site as a portal with these columns, or without any row."""

    def run(columns=None, settings=None, rows="", **arguments):
        more = dict(settings or {})
        name = f"{site.url}/"
        if columns is not None:
            table = tmp_path / "own.toml"
            lines = [f"{key} = {json.dumps(value)}" for key, value in columns.items() if key != "headers"]
            lines += [f"headers.{key} = {json.dumps(value)}" for key, value in columns.get("headers", {}).items()]
            host = site.url.removeprefix("http://")
            table.write_text("\n".join([rows, "[river]", f'host = "{host}"', f'home = "{name}"', *lines]), "utf-8")
            more["PORTALS"] = table
            name = "river"
        return crawl("news", {"site": name} | arguments, more)

    return run
