"""Training the weights of dates, authors and titles."""

import gzip
import json

import pytest

from cleaning.training.metadata import FIELDS, RankedPage, cross_validate, judge, main, read_pages, train

DATES = FIELDS[0]

PAGE = """<html lang="en"><head><title>Ice</title>{head}</head>
<body><h1>Ice</h1><p class="date">{text}</p><p>The harbour was closed for three weeks.</p></body></html>"""


def dated_page(number, *, day="2024-03-05"):
    options = {
        "2024-03-05": frozenset({"good"}),
        "2023-01-01": frozenset({"bad"}),
        None: frozenset({"none"}),
    }
    return RankedPage(f"host-{number}.example", options, frozenset({day}))


@pytest.fixture
def folder(tmp_path):
    """Return a data folder with ten pages of `dates-dev`."""
    folder = tmp_path / "extraction" / "dates-dev"
    folder.mkdir(parents=True)
    lines = []
    for number in range(1, 11):
        day = f"2024-03-{number:02}"
        body = PAGE.format(head=f'<meta name="date" content="{day}">', text=f"March {number}, 2024")
        (folder / f"{number}.html.gz").write_bytes(gzip.compress(body.encode()))
        truth = {"id": str(number), "url": f"https://host-{number}.example/a", "date": day}
        lines.append(json.dumps({**truth, "html_path": f"{number}.html.gz"}))
    (folder / "truth.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


def test_training_prefers_the_right_days():
    weights = train(DATES, [dated_page(number) for number in range(20)])
    assert weights["good"] > weights["none"]
    assert weights["good"] > weights["bad"]


def test_training_learns_when_to_give_no_answer():
    weights = train(DATES, [dated_page(number, day=None) for number in range(20)])
    assert weights["none"] > weights["good"]


def test_rare_features_have_no_weight():
    pages = [dated_page(number) for number in range(20)]
    options = {"2024-03-05": frozenset({"good", "rare"}), None: frozenset({"none"})}
    rare = RankedPage("rare.example", options, frozenset({"2024-03-05"}))
    assert "rare" not in train(DATES, [*pages, rare])


def test_an_uncertain_page_weighs_less():
    right = frozenset({None})
    without = [RankedPage(page.host, page.options, right, 0.3) for page in map(dated_page, range(20, 50))]
    certain = [RankedPage(page.host, page.options, right) for page in map(dated_page, range(20, 50))]
    pages = [dated_page(number) for number in range(20)]
    assert train(DATES, [*pages, *without])["none"] < train(DATES, [*pages, *certain])["none"]


def test_pages_of_a_host_are_in_one_fold():
    assert dated_page(1).fold == dated_page(1, day=None).fold


def test_each_page_is_judged_once():
    pages = [dated_page(number) for number in range(30)]
    judged = [page for page, _ in cross_validate(DATES, pages)]
    assert sorted(page.host for page in judged) == sorted(page.host for page in pages)


def test_pages_are_read_with_their_options(folder):
    pages = read_pages(folder, ["dates-dev"])["published"]
    assert [page.right for page in pages] == [{f"2024-03-{number:02}"} for number in range(1, 11)]
    assert all({*page.right, None} == set(page.options) for page in pages)


def test_fields_that_a_set_does_not_note_are_not_trained(folder):
    pages = read_pages(folder, ["dates-dev"])
    assert not pages["authors"]
    assert not pages["title"]


def test_authors_and_titles_are_read_with_their_options(folder):
    path = folder / "extraction" / "dates-dev" / "truth.jsonl"
    path.write_text(path.read_text("utf-8").replace('"date":', '"title": "Ice", "author": "Ann Lee", "date":'), "utf-8")
    pages = read_pages(folder, ["dates-dev"])
    assert all(page.right == {"ice"} and "ice" in page.options for page in pages["title"])
    assert all(page.right.isdisjoint(page.options) for page in pages["authors"])  # the pages name nobody


def test_a_page_that_states_a_date_without_gold_is_uncertain(folder):
    path = folder / "extraction" / "dates-dev" / "truth.jsonl"
    path.write_text(path.read_text("utf-8").replace('"date": "2024-03-01"', '"date": null'), "utf-8")
    assert [page.weight for page in read_pages(folder, ["dates-dev"])["published"]] == [0.3] + [1.0] * 9


@pytest.mark.parametrize(
    ("answer", "day", "verdict"),
    [
        ("2024-03-05", "2024-03-05", "right"),
        ("2024-03-06", "2024-03-05", "wrong"),
        (None, "2024-03-05", "missing"),
        ("2024-03-05", None, "invented"),
        (None, None, "none"),
    ],
)
def test_verdicts(answer, day, verdict):
    assert judge(answer, frozenset({day})) == verdict


def test_a_folder_without_data_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main([str(tmp_path)])
    assert stop.value.code == 2
    assert "there is no folder 'extraction'" in capsys.readouterr().err
