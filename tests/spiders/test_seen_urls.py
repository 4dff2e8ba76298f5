"""What a listing has shown."""

from spiders.listing import SeenUrls

NEWS, WORLD = "https://a.example/news/", "https://a.example/world/"


def test_a_seen_url_is_not_new():
    listed = SeenUrls()
    assert listed.add(NEWS, ["https://a.example/1", "https://a.example/2"]) == 2
    assert listed.add(NEWS, ["https://a.example/2", "https://a.example/3", "https://a.example/3#top"]) == 1
    assert listed.has(NEWS, "https://a.example/1")
    assert not listed.has(NEWS, "https://a.example/4")


def test_session_ids_and_tracking_do_not_make_a_url_new():
    listed = SeenUrls()
    listed.add(NEWS, ["https://a.example/1;jsessionid=AB12?a=1"])
    assert listed.add(NEWS, ["https://a.example/1?a=1&PHPSESSID=8f2a&utm_source=x"]) == 0


def test_listings_are_separate():
    listed = SeenUrls()
    listed.add(NEWS, ["https://a.example/1"])
    assert listed.add(WORLD, ["https://a.example/1"]) == 1


def test_the_oldest_are_forgotten_first():
    listed = SeenUrls(most=3)
    listed.add(NEWS, ["https://a.example/1"])
    for number in range(2, 5):
        listed.add(NEWS, [f"https://a.example/{number}"])
    assert [listed.has(NEWS, f"https://a.example/{number}") for number in range(1, 5)] == [False, True, True, True]
