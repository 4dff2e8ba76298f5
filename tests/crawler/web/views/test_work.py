"""The schedule, the failures and the settings."""

from urllib.parse import urlencode


def test_the_schedule_tells_what_is_due_and_the_week_to_come(ask):
    schedule = ask("/api/schedule").json
    assert [entry["page"] for entry in schedule["pages"]] == [3, 4]
    assert [entry["url"] for entry in schedule["sections"]] == ["https://lake.example.org/news"]
    assert "visited once" in schedule["pages"][0]["why"]
    # The third page is due in two days, or in one if midnight has passed since it was stored.
    assert [day["pages"] for day in schedule["days"]] in ([2, 0, 1, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0, 0])
    assert ask(f"/api/schedule?{urlencode({'cursor': 'x|1'})}").status == 400
    assert ask(f"/api/schedule?{urlencode({'cursor': '2024-05-01T00:00:00+00:00|1'})}").json["pages"]


def test_the_schedule_tells_the_next_hours_by_site_and_what_is_late(ask, ask_newspapers):
    schedule = ask("/api/schedule").json
    (site,) = schedule["tonight"]
    assert (site["site"], site["late"], len(site["hours"])) == ("example.org", 3, 24)
    assert site["waiting"] <= schedule["hours"][1]
    schedule = ask_newspapers("/api/schedule").json
    totals = [site["total"] for site in schedule["tonight"]]
    assert totals == sorted(totals, reverse=True)
    assert all(site["late"] + sum(site["hours"]) == site["total"] for site in schedule["tonight"])
    assert sum(site["late"] for site in schedule["tonight"]) == schedule["due_pages"] + schedule["due_sections"]
    assert not schedule["cut"]


def test_settings_are_explained_with_their_secrets_masked(ask):
    settings = {setting["name"]: setting for setting in ask("/api/settings").json["settings"]}
    assert settings["CLEANING_SECONDS"]["value"] == "600.0"
    assert settings["CLEANING_SECONDS"]["set_by"] != "default"
    assert "secret-1234" not in settings["DATABASE_URL"]["value"]
    assert "***" in settings["DATABASE_URL"]["value"]


def test_failures_come_with_the_command_that_tries_them_again(ask):
    (group,) = ask("/api/failures").json["groups"]
    assert group["requests"] == 55
    assert group["command"].startswith("scrapy retry --failed --spider ")
    assert group["command"].endswith(" --host lake.example.org --outcome download_failed")


def walk(ask, path, name, key):
    """Return the parts of a list on the way to its end, and on the way back."""
    there = []
    cursor = None
    for _ in range(100):
        answer = ask(f"{path}?{urlencode({'cursor': cursor})}" if cursor else path).json
        there.append([row[key] for row in answer[name]])
        cursor = answer["next"]
        if cursor is None:
            break
    back = [there[-1]]
    for _ in there[1:]:
        answer = ask(f"{path}?{urlencode({'cursor': answer['previous']})}").json
        back.append([row[key] for row in answer[name]])
    assert answer["previous"] is None
    return there, back[::-1]


def test_failed_requests_page_back(ask):
    there, back = walk(ask, "/api/failures", "requests", "id")
    assert [len(part) for part in there] == [50, 5]
    assert back == there
    assert 'rel="prev">Back</a>' in ask(f"/failures?cursor={ask('/api/failures').json['next']}").text
    assert ask(f"/api/failures?cursor={2**63}.1").status == 400


def test_due_pages_page_back(ask_newspapers):
    first = ask_newspapers("/api/schedule").json
    fourth = first["pages"][3]
    cursor = f"{fourth['due']}|{fourth['page']}"
    later = ask_newspapers(f"/api/schedule?{urlencode({'cursor': cursor})}").json
    assert later["pages"] == first["pages"][4:]
    back = ask_newspapers(f"/api/schedule?{urlencode({'cursor': later['previous']})}").json
    assert (back["pages"], back["previous"]) == (first["pages"], None)


def test_groups_of_failures_are_sorted_by_their_headings(ask):
    assert 'href="/failures?order=host"' in ask("/failures").text
    assert ask("/api/failures?order=host").json["groups"] == ask("/api/failures").json["groups"]
    assert ask("/api/failures?order=speed").status == 400
