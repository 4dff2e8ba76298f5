"""Every view as a page and as JSON: what it says, that hostile texts are inert, and that nobody else may ask."""

import http.client
import json
import re
from urllib.parse import urlencode

import jsonschema
import pytest
from lxml import html as lxml_html
from openapi_spec_validator import validate
from shown_pages import EDITED, HOSTILE, PAGES

from crawler.web.views import make_views

VIEWS = make_views()
ADDRESSES = {"site": "example.org", "page": 1, "block": 1}
UNSAFE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"


def path_of(view, **values):
    return view.path.format(**(ADDRESSES | values))


@pytest.fixture(params=VIEWS, ids=lambda view: view.name)
def view(request):
    return request.param


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


def test_each_page_is_whole_and_inert(ask, view):
    answer = ask(path_of(view))
    assert answer.status == 200, answer.text
    check_inert(answer)


@pytest.mark.parametrize("path", ["/", "/failures", "/crawls", "/sites/example.org", "/search?q=attacker"])
def test_hostile_texts_are_shown_as_texts(ask, path):
    answer = ask(path)
    check_inert(answer)
    text = lxml_html.document_fromstring(answer.body).text_content()
    assert "<script>alert(1)</script>" in text
    assert "{{ 7 * 7 }}" in text


def test_a_hostile_page_and_query_are_inert(ask):
    result = ask("/api/search?q=attacker").json["pages"][0]
    assert result["title"] == HOSTILE
    check_inert(ask(f"/pages/{result['id']}"))
    check_inert(ask(f"/search?{urlencode({'q': HOSTILE, 'site': HOSTILE})}"))
    check_inert(ask(f"/sites/{HOSTILE.replace('/', '').encode().hex()}%3Cscript%3E"))


def check_inert(answer):
    """Check that a page has no script but ours, no handler, no foreign address that acts, and no control character."""
    policy = answer.headers["Content-Security-Policy"]
    nonce = re.search(r"script-src 'nonce-([\w-]{20,})';", policy)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    root = lxml_html.document_fromstring(answer.body)
    assert [(element.get("nonce"), element.text) for element in root.iter("script")] == [(nonce, None)]
    for element in root.iter():
        names = set(element.attrib)
        assert not {name for name in names if name.startswith("on")} | names & {"style", "srcdoc", "formaction"}
        assert element.tag not in {"style", "object", "embed", "base", "img"}
        for name in names & {"href", "src", "action"}:
            assert element.get(name).startswith(("/", "#", "http://", "https://")), element.get(name)
    assert all(element.get("sandbox") == "" for element in root.iter("iframe"))
    assert not re.search(UNSAFE, answer.text)
    assert "49" not in root.findtext(".//h1")
    assert "secret-1234" not in answer.text


def test_no_secret_is_in_the_json(ask, view):
    assert "secret-1234" not in ask(f"/api{path_of(view)}" if view.path != "/" else "/api/overview").text


def test_the_overview_counts_rows_and_shows_the_open_crawl(ask):
    overview = ask("/api/overview").json
    assert overview["totals"]["pages"] == PAGES + 2
    assert overview["totals"]["crawls"] == 2
    assert (overview["due_pages"], overview["due_sections"]) == (2, 1)
    (crawl,) = overview["open_crawls"]
    assert (crawl["queued"], crawl["failed"], crawl["ended"], crawl["leased"]) == (3, 55, 1, 0)
    assert len(overview["days"]) == 30
    assert overview["days"][-1]["pages"] == PAGES + 2
    assert overview["hosts"][0]["host"] == "lake.example.org"


def test_a_page_shows_its_visits_word_by_word(ask):
    number = page_id(ask, "https://lake.example.org/1")
    page = ask(f"/api/pages/{number}").json
    assert (page["visits"], page["changes"]) == (3, 2)
    last, edit, first = page["revisions"]
    assert first["first"]
    (edited,) = [change for change in edit["changes"] if change["change"] == "edited"]
    assert edited["text"] == EDITED
    assert [part["text"] for part in edited["words"] if part["change"] == "added"] == ["early"]
    assert [change["change"] for change in last["changes"]] == ["gone"]
    document = ask(f"/pages/{number}").text
    assert "<ins>early</ins>" in document
    assert "<del>late</del>" in document


def test_texts_that_repeat_others_name_their_page_and_the_other_way_round(ask):
    copied = ask(f"/api/pages/{page_id(ask, 'https://lake.example.org/3')}").json
    origins = {text["of"]["id"] for text in copied["texts"] if text["of"]}
    assert origins
    own = ask(f"/api/pages/{min(origins)}").json
    assert copied["id"] in {copy["page"]["id"] for copy in own["copies"]}


def test_the_original_is_shown_in_colours_by_its_crawls_method_or_another(ask):
    number = page_id(ask, "https://lake.example.org/1")
    answer = ask(f"/pages/{number}/original")
    assert answer.headers["Content-Security-Policy"].endswith("; sandbox")
    assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
    assert {"k", "d"} <= set(" ".join(lxml_html.document_fromstring(answer.body).xpath("//span/@class")).split())
    assert ask(f"/pages/{number}/original?method=tags").status == 200
    for method, words in {"none": "there is no method &#39;none&#39;", "vce": "needs a browser"}.items():
        refused = ask(f"/pages/{number}/original?method={method}")
        assert refused.status == 422
        assert words in refused.text


def page_id(ask, url):
    answer = ask(f"/page?{urlencode({'url': url})}")
    assert answer.status == 303
    return int(answer.headers["Location"].rpartition("/")[2])


def test_a_block_names_the_pages_that_repeat_it_and_how_they_differ(ask):
    largest = ask("/api/families").json["blocks"][0]
    block = ask(f"/api/blocks/{largest['block']}").json
    assert block["places"] == largest["size"] == sum(place["times"] for place in block["repetitions"])
    assert (
        len(block["repetitions"])
        == len({(place["page"]["id"], str(place["words"])) for place in block["repetitions"]})
        > 1
    )
    assert block["text"].startswith("The harbour office asks")
    assert {word["text"] for place in block["repetitions"] for word in place["words"] if word["change"] == "added"} <= {
        "always."
    }
    assert ask("/api/blocks/999999").json["problem"] == "there is no block 999999 in the database"


def test_the_schedule_tells_what_is_due_and_the_week_to_come(ask):
    schedule = ask("/api/schedule").json
    assert [entry["page"] for entry in schedule["pages"]] == [3, 4]
    assert [entry["url"] for entry in schedule["sections"]] == ["https://lake.example.org/news"]
    assert "visited once" in schedule["pages"][0]["why"]
    # The third page is due in two days, or in one if midnight has passed since it was stored.
    assert [day["pages"] for day in schedule["days"]] in ([2, 0, 1, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0, 0])
    assert ask(f"/api/schedule?{urlencode({'cursor': 'x|1'})}").status == 400
    assert ask(f"/api/schedule?{urlencode({'cursor': '2024-05-01T00:00:00+00:00|1'})}").json["pages"]


def test_settings_are_explained_with_their_secrets_masked(ask):
    settings = {setting["name"]: setting for setting in ask("/api/settings").json["settings"]}
    assert settings["CLEANING_SECONDS"]["value"] == "600.0"
    assert settings["CLEANING_SECONDS"]["set_by"] != "default"
    assert "secret-1234" not in settings["DATABASE_URL"]["value"]
    assert "***" in settings["DATABASE_URL"]["value"]


def test_two_methods_are_shown_side_by_side(ask):
    comparison = ask("/api/pages/2/methods?other=pab").json
    assert [version["method"] for version in comparison["cleaned"]] == ["default", "pab"]
    frames = lxml_html.document_fromstring(ask("/pages/2/methods?other=pab").body).xpath("//iframe/@src")
    assert frames == [version["original"] for version in comparison["cleaned"]]
    assert {ask(path).status for path in frames} == {200}
    assert ask("/api/pages/2/methods?other=none").status == 422


@pytest.mark.parametrize(
    ("path", "entries", "expected"),
    [("/api/sites/example.org", "newest", PAGES + 2), ("/api/failures", "requests", 55)],
)
def test_a_list_is_complete_by_its_cursor(ask, path, entries, expected):
    ids = []
    cursor = ""
    while cursor is not None:
        answer = ask(f"{path}?{urlencode({'cursor': cursor})}" if cursor else path).json
        ids += [entry["id"] for entry in answer[entries]]
        cursor = answer["next"]
    assert len(ids) == len(set(ids)) == expected


def test_a_search_marks_its_hits_and_goes_on(ask):
    first = ask("/api/search?q=ferryman&site=example.org").json
    assert len(first["pages"]) == 20
    assert {
        part["text"] for page in first["pages"] for hit in page["hits"] for part in hit["excerpt"] if part["hit"]
    } == {"ferryman"}
    later = ask(f"/api/search?q=ferryman&cursor={first['next']}").json
    assert not {page["id"] for page in first["pages"]} & {page["id"] for page in later["pages"]}
    assert "<mark>ferryman</mark>" in ask("/search?q=ferryman").text
    assert "quotation mark" in ask("/search?q=%22open").text
    assert ask("/api/search?q=ferryman&site=other.example").json["pages"] == []
    assert "No block matches" in ask("/search?q=nowhere").text
    malformed = ask("/api/search?q=%22open")
    assert (malformed.status, "quotation mark" in malformed.json["problem"]) == (400, True)


def test_failures_come_with_the_command_that_tries_them_again(ask):
    (group,) = ask("/api/failures").json["groups"]
    assert group["requests"] == 55
    assert group["command"].startswith("scrapy retry --failed --spider ")
    assert group["command"].endswith(" --host lake.example.org --outcome download_failed")


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/pages/999999", 404, "there is no page 999999"),
        ("/pages/x", 400, "Expected `int`"),
        ("/pages/99999999999999999999", 400, "Expected `int`"),
        ("/sites/nowhere.example", 404, "there is no page of the site"),
        ("/sites?wrong=1", 400, "unknown field `wrong`"),
        ("/failures?cursor=x", 400, "is not one of this list"),
        ("/crawls?cursor=%F0%9F%98%80", 400, "is not one of this list"),
    ],
)
def test_what_is_not_there_or_malformed_is_a_sentence_on_the_page_and_in_the_json(ask, path, status, words):
    answer = ask(path)
    json_answer = ask(f"/api{path}")
    assert (answer.status, json_answer.status) == (status, status)
    assert words in json_answer.json["problem"]
    check_inert(answer)


def test_an_unknown_address_is_a_page_and_static_files_have_versions(ask):
    assert ask("/nowhere").status == 404
    address = re.search(r'href="(/static/style\.css\?v=[\w-]+)"', ask("/").text)[1]
    assert "immutable" in ask(address).headers["Cache-Control"]
    assert ask("/static/nothing").status == 404


def test_only_reading_is_allowed_and_only_under_its_own_name(ask):
    assert ask("/", method="POST").status == 405
    assert ask("/", {"Host": "evil.example"}).status == 421
    assert ask("/", {"Host": "evil.example:80", "X-Forwarded-Host": "localhost"}).status == 421
    assert ask("/", {"Host": "localhost:1"}).status == 200
    headers = ask("/").headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Server"] is None


def test_a_token_is_asked_for_everywhere_and_leaves_the_address(ask_with_token):
    assert {ask_with_token(path).status for path in ("/", "/api/overview", "/live", "/static/web.js", "/x")} == {401}
    assert ask_with_token("/?token=wrong").status == 401
    assert ask_with_token("/", {"Authorization": "Bearer wrong"}).status == 401
    assert ask_with_token("/api/overview", {"Authorization": "Bearer a token of many letters"}).status == 200
    entered = ask_with_token("//evil.example/?q=a&token=a+token+of+many+letters")
    assert (entered.status, entered.headers["Location"]) == (303, "/evil.example/?q=a")
    cookie = entered.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "letters" not in cookie
    assert ask_with_token("/", {"Cookie": cookie.partition(";")[0]}).status == 200
    assert ask_with_token("/", {"Cookie": "blocksieve=x"}).status == 401


def test_live_figures_are_events(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", "/live")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.readline() == b"event: crawls\n"
    (crawl,) = json.loads(answer.readline().removeprefix(b"data: "))
    assert crawl["queued"] == 3
    connection.close()
