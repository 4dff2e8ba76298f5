"""The server of the demo site: copies that are current, counts, and the site as a proxy."""

import json

from crawler.demo.site import read_replies


def test_served_bytes_are_those_of_the_archive(get):
    path, reply = next((path, reply) for path, reply in read_replies().items() if reply.etag)

    assert get(path).content == reply.body


def test_a_current_copy_is_answered_by_304(get, facts):
    path = facts["articles"][0]["path"]
    first = get(path)
    etag = first.headers["ETag"]
    modified = first.headers["Last-Modified"]

    by_tag = get(path, If_None_Match=etag)
    by_date = get(path, If_Modified_Since=modified)

    assert (by_tag.status, by_tag.content, by_tag.headers["ETag"]) == (304, b"", etag)
    assert by_date.status == 304


def test_an_outdated_or_unreadable_copy_is_sent_again(get, facts):
    path = facts["articles"][0]["path"]
    modified = get(path).headers["Last-Modified"]

    assert get(path, If_None_Match='"other"', If_Modified_Since=modified).status == 200
    assert get(path, If_Modified_Since="Mon, 01 Jan 2001 00:00:00 GMT").status == 200
    assert get(path, If_Modified_Since="yesterday").status == 200


def test_unknown_paths_are_404(get):
    assert get("/?No-Such-Article&id=1").status == 404


def test_head_sends_no_body_and_keeps_the_connection_usable(get, facts):
    path = facts["articles"][0]["path"]
    head = get(path, method="HEAD")

    assert head.content == b""
    assert int(head.headers["Content-Length"]) == len(get(path).content)


def test_site_counts_its_requests(get):
    get("/?asked-for-once&id=2")

    assert json.loads(get("/demo/requests").text)["404 /?asked-for-once&id=2"] == 1


def test_the_site_serves_the_same_page_as_a_proxy(get, facts):
    path = facts["articles"][0]["path"]

    assert get(f"http://any.host.invalid{path}").content == get(path).content
