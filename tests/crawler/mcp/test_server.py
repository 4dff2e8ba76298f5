"""An assistant's client, the SDK's own, asks the server; it reads, and cannot write."""

import asyncio
import sys

import pytest
from cleaned_pages import STRUCTURED, address, fill, visit
from copied_pages import ORIGINAL
from copied_pages import fill as fill_with_copies
from mcp import Client, StdioServerParameters, stdio_client
from scrapy.settings import Settings

from crawler.mcp.server import make_server
from crawler.storage.database import opened_engine
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store

TOOLS = {"search", "read_page", "page_changes", "changes", "copies", "why_missing", "sites"}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, fresh_url):
    """Five pages, of which one changes and has a structure then."""
    url = fresh_url(request.param)
    with opened_engine(url) as engine:
        prepare_schema(engine)
        store = Store(engine)
        crawl = fill(store, 5)
        store.save(crawl, [visit(1, STRUCTURED, day=1, structure=True)])
    return url


@pytest.fixture
def ask(url):
    """Ask a tool and return its answer, or the sentence of its error."""

    def run(tool, **arguments):
        async def call():
            with opened_engine(url, must_exist=True, query_seconds=60) as engine:
                async with Client(make_server(engine, Settings({"DATABASE_URL": url}), "1")) as client:
                    return await client.call_tool(tool, arguments)

        result = asyncio.run(call())
        return result.content[0].text if result.is_error else result.structured_content

    return run


def test_the_tools_say_that_they_only_read(url):
    async def tools():
        with opened_engine(url, must_exist=True, query_seconds=60) as engine:
            async with Client(make_server(engine, Settings({"DATABASE_URL": url}), "1")) as client:
                return (await client.list_tools()).tools

    listed = asyncio.run(tools())
    assert {tool.name for tool in listed} == TOOLS
    assert all(tool.annotations.read_only_hint and tool.description for tool in listed)
    assert all(field.get("description") for tool in listed for field in tool.input_schema["properties"].values())


def test_a_page_is_found_and_read(ask):
    answer = ask("search", query='"ferry 3"', site="example.org")
    assert [page["url"] for page in answer["pages"]] == [address(3)]
    assert "Ferry 3 is late" in [hit["excerpt"] for hit in answer["pages"][0]["hits"]]
    page = ask("read_page", url=address(1))
    assert page["text"].startswith("# The ferries of the lake")
    assert page["next_offset"] is None
    assert "Ferry 3 is late" in ask("read_page", url=address(3))["text"]
    assert ask("read_page", url=address(3), offset=10)["text"] == ask("read_page", url=address(3))["text"][10:]


def test_a_question_in_words_gets_the_nearest_query(ask):
    answer = ask("search", query="why is ferry 3 so very late, and where is the zeppelin")
    assert answer["pages"] == []
    assert answer["nothing"] == f"all words must occur in one text; the nearest query is {answer['nearest']} (1 page)"
    assert [page["url"] for page in ask("search", query=answer["nearest"])["pages"]] == [address(3)]
    assert "none of them is found alone" in ask("search", query="zeppelins and dirigibles")["nothing"]
    assert ask("search", query="zeppelin")["nearest"] is None


def test_changes_and_sites(ask):
    assert [change["kind"] for change in ask("changes", since="2024-05-02")["changes"]] == ["changed"]
    assert len(ask("changes", site="example.org")["changes"]) == 6
    assert ask("page_changes", url=address(1))["revisions"]
    assert [site["site"] for site in ask("sites")["sites"]] == ["example.org"]
    assert ask("copies")["pairs"] == []


def test_a_missing_sentence_has_its_reason(ask):
    (block,) = ask("why_missing", url=address(2), sentence="Copyright by the town at the lake")["blocks"]
    assert not block["kept"]
    assert block["reason"]
    assert ask("why_missing", url=address(2), sentence="no such words anywhere")["problem"]


def test_copies(fresh_url):
    url = fresh_url("sqlite")
    with opened_engine(url) as engine:
        fill_with_copies(engine)

    async def call():
        with opened_engine(url, must_exist=True, query_seconds=60) as engine:
            async with Client(make_server(engine, Settings({"DATABASE_URL": url}), "1")) as client:
                return (await client.call_tool("copies", {})).structured_content

    assert [pair["original"] for pair in asyncio.run(call())["pairs"]] == [ORIGINAL]


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("read_page", {"url": "https://none.example/"}, "https://none.example/ is not in the database"),
        ("search", {"query": '"open'}, "quotation mark"),
        ("changes", {"since": "yesterday"}, "yesterday"),
        ("changes", {"kind": "odd"}, "odd"),
        ("search", {"query": "x" * 2_000}, "1000"),
        ("why_missing", {"url": "no address", "sentence": "Ferry 2"}, "no address"),
    ],
)
def test_mistakes_are_sentences(ask, tool, arguments, sentence):
    answer = ask(tool, **arguments)
    assert isinstance(answer, str), answer
    assert sentence in answer


def test_the_command_talks_by_its_standard_input(url, tmp_path):
    """As an assistant starts it: a process of its own, with the database in its environment."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "scrapy", "mcp"],
        env={"DATABASE_URL": url, "SCRAPY_SETTINGS_MODULE": "crawler.settings"},
        cwd=tmp_path,
    )

    async def call():
        async with Client(stdio_client(command)) as client:
            return await client.call_tool("search", {"query": "ferry"})

    result = asyncio.run(call())
    assert not result.is_error
    assert len(result.structured_content["pages"]) == 5


@pytest.mark.parametrize("odd", ["\0", "https://a.example/\0", "\ud800", "9" * 30], ids=ascii)
def test_no_argument_breaks_an_answer(url, odd, caplog):
    """A text that no column holds is answered, or is a mistake that a sentence tells."""
    asked = [("search", {"query": "ferry", name: odd}) for name in ("query", "site", "section", "language", "cursor")]
    asked += [(tool, {"url": odd}) for tool in ("read_page", "page_changes")]
    asked += [("why_missing", {"url": page, "sentence": odd}) for page in (address(2), odd)]
    asked += [(tool, {name: odd}) for tool in ("changes", "copies") for name in ("site", "cursor")]
    asked += [("sites", {"begins": odd}), ("changes", {"kind": odd}), ("changes", {"since": odd})]

    async def call():
        with opened_engine(url, must_exist=True, query_seconds=60) as engine:
            async with Client(make_server(engine, Settings({"DATABASE_URL": url}), "1")) as client:
                for tool, arguments in asked:
                    await client.call_tool(tool, arguments)

    asyncio.run(call())
    assert "Traceback" not in caplog.text
