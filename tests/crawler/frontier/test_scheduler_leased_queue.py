"""Which of the leased requests is sent next."""

import pytest
import scrapy

from crawler.frontier.scheduler import LeasedQueue


def request(path, priority=0, host="a.example"):
    return scrapy.Request(f"https://{host}/{path}", priority=priority)


@pytest.fixture
def waiting():
    return LeasedQueue()


def everywhere(_request):
    return True


def popped(waiting, now, free=everywhere):
    first = waiting.pop(now, free)
    return first.url.rpartition("/")[2] if first else None


def test_a_new_queue_is_empty(waiting):
    assert (len(waiting), waiting.pop(0.0, everywhere), waiting.take()) == (0, None, [])


def test_the_first_due_request_of_the_highest_priority_comes_first(waiting):
    for path, priority, earliest_time in [("a", 0, 1), ("b", 5, 1), ("c", 5, 1), ("later", 9, 2)]:
        waiting.add(request(path, priority), earliest_time)
    assert [popped(waiting, 1) for _ in range(4)] == ["b", "c", "a", None]
    assert popped(waiting, 2) == "later"
    assert len(waiting) == 0


def test_a_request_for_a_full_slot_lets_others_pass(waiting):
    waiting.add(request("busy", priority=5), 0)
    waiting.add(request("free", host="b.example"), 0)
    assert popped(waiting, 1, lambda request: "b.example" in request.url) == "free"
    assert popped(waiting, 1, lambda _request: False) is None
    assert popped(waiting, 1) == "busy"


def test_the_requests_of_one_host_can_be_removed(waiting):
    waiting.add(request("a"), 0)
    waiting.add(request("b", host="b.example"), 0)
    waiting.add(request("c"), 9)
    assert [queued.url for queued in waiting.take("a.example")] == ["https://a.example/a", "https://a.example/c"]
    assert [queued.url for queued in waiting.take()] == ["https://b.example/b"]
    assert len(waiting) == 0
