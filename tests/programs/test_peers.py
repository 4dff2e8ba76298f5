"""The public extractors that the programs compare with, the folds, and the program that shows both."""

import json
import re

import folds
import methods_table
import peers
import pytest
import report
import small_data
from corpus import ROOT
from evaluation import SETS, Measured
from peers import PEERS
from scores import MEASURES

from cleaning import METHODS, parse

HOSTS = [f"site-{number}.example" for number in range(6)]
ARTICLE = (ROOT / "tests" / "golden" / "news-article" / "page.html").read_bytes()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a folder of data: two sets of six pages, each of a host of its own."""
    return small_data.write(tmp_path_factory.mktemp("data"), HOSTS, pages=1)


def run(folder, *arguments):
    return small_data.run("research/quality.py", folder, *arguments)


@pytest.fixture(scope="module")
def compared(small):
    finished = run(small, "--peers", "--method", "default", "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_every_peer_is_installed():
    assert peers.missing() == []


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_finds_the_article(name):
    text = PEERS[name].load()(ARTICLE)
    expected = json.loads((ROOT / "tests" / "golden" / "news-article" / "expected.json").read_text("utf-8"))
    assert " ".join(max(expected["kept"], key=len).split()[:12]) in " ".join(text.split())


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_finds_nothing_or_fails_gives_an_empty_text(name):
    assert peers.attempt(PEERS[name].load(), b"").strip() == ""


def test_whatever_a_peer_raises_is_an_empty_text():
    def fail(_body):
        raise RecursionError

    assert peers.attempt(fail, b"<p>text") == ""
    assert peers.attempt(lambda _body: None, b"<p>text") == ""


def test_other_sets_are_shown_beside_the_peers(tmp_path):
    small = small_data.write_snippets(small_data.write_magic(small_data.write(tmp_path, HOSTS, pages=1)))
    finished = run(small, "--peers", "resiliparse", "--method", "default", "--write", tmp_path / "page.md")
    assert finished.returncode == 0, finished.stderr
    page = (tmp_path / "page.md").read_text("utf-8")
    section = page[page.index("## Articles and forums of many countries") : page.index("## How it was measured")]
    assert "| extractor | forums, 1 pages | ahead |\n" in section
    assert re.search(r"^\| default \| [.\d]+ \|  \|$", section, re.MULTILINE)
    assert re.search(r"^\| resiliparse \| [.\d]+ \| [+-][.\d]+ \|$", section, re.MULTILINE)  # one host: no interval
    assert re.search(r"^\| resiliparse \| [.\d]+ \| [.\d]+ \| [.\d]+ \|$", section, re.MULTILINE)
    assert "magic-dev `" in page


def test_a_summary_becomes_a_text_with_its_blocks_apart():
    summary = "<html><body><p>one<!-- not --> t<b>w</b>o</p><script>no</script><ul><li>three</li><li>four</li></ul>five"
    assert peers.part(summary).split() == ["one", "two", "three", "four", "five"]


def test_the_program_measures_every_peer_on_the_same_pages(compared):
    for of_set in compared.values():
        assert list(of_set) == ["default", *PEERS]
        for figures in of_set.values():
            assert figures["groups"]["all"]["pages"] == 6
            assert figures["cost"] > 0
            assert figures["groups"].keys() >= {"all", "type: forum", "language: en"}
            assert figures["groups"]["all"]["intervals"].keys() == {"f1", "precision", "recall", "under_half"}
        ours = of_set["default"]
        assert ours["judged"] == "in-sample"
        for peer, ahead in ours["ahead"].items():
            difference = ours["groups"]["all"]["f1"] - of_set[peer]["groups"]["all"]["f1"]
            assert ahead["all"]["f1"] == pytest.approx(difference, abs=2e-4)
            low, high = ahead["all"]["intervals"]["f1"]
            assert low <= ahead["all"]["f1"] <= high


def test_the_program_prints_tables_that_say_what_is_in_sample(small):
    finished = run(small, "--peers", "resiliparse;trafilatura, precision", "--markdown")
    assert finished.returncode == 0, finished.stderr
    for title in ("By data set", "By page type", "By language", "Ours minus the peer's, by language"):
        assert f"**{title}**" in finished.stdout
    assert "| wcxb-dev | forum | default (in-sample) | 6 | 1.000 [1.000, 1.000] |" in finished.stdout
    assert "| wcxb-dev | forum | default (in-sample) | − resiliparse | 6 | " in finished.stdout
    assert "readability" not in finished.stdout
    assert "| default |" not in finished.stdout


def test_the_program_names_a_peer_that_it_does_not_know(small):
    finished = run(small, "--peers", "trafilatura;redability")
    assert finished.returncode == 2
    assert "unknown peers: redability; known: trafilatura; " in finished.stderr


def test_the_program_says_where_folds_are_missing(small):
    finished = run(small, "--cross-validate", small / "nowhere")
    assert finished.returncode == 2
    assert f"no complete folds in {small / 'nowhere'}" in finished.stderr


@pytest.mark.parametrize("arguments", [["--method", "pab"], ["--floors", "x.json"]])
def test_folds_go_with_what_they_judge(small, arguments):
    finished = run(small, "--cross-validate", small, *arguments)
    assert finished.returncode == 2
    assert "--cross-validate" in finished.stderr


def test_a_page_is_judged_by_the_model_of_its_host():
    judges = folds.Folds({0: METHODS["eniw"], 1: METHODS["subtree"]}, {"a.example": 0, "b.example": 1})
    prose = "This is the text of the page, and there is enough of it to be taken for prose. " * 4
    page = parse(f"<body><nav><a href=/>Home</a></nav><article><p>{prose}</p></article>")
    assert judges.text(page, "a.example") == f"Home\n{prose}".strip()
    assert judges.text(page, "b.example") == prose.strip()
    with pytest.raises(KeyError):
        judges.text(page, "c.example")


def test_hosts_without_a_fold_are_named():
    judges = folds.Folds({0: METHODS["tags"]}, {"a.example": 0})
    judges.check(["a.example", "a.example"])
    with pytest.raises(ValueError, match=r"2 hosts are in no fold, such as b\.example, c\.example"):
        judges.check(["c.example", "a.example", "b.example"])


def measured(f1, judged="", ahead=None):
    row = {"pages": 9, "f1": f1, "precision": f1, "recall": f1, "under_half": 0.125}
    row["intervals"] = {name: [f1 - 0.01, f1 + 0.01] for name in MEASURES}
    ahead = {peer: {"all": lead} for peer, lead in (ahead or {}).items()}
    return Measured({"all": row}, 3.0, 2.0, judged=judged, ahead=ahead)


def test_the_page_sets_the_cross_validated_method_beside_the_peers():
    lead = measured(0.04).whole
    ours = measured(0.97, "cross-validated", {"resiliparse": lead})
    results = {name: {"default": ours, "resiliparse": measured(0.93)} for name in SETS}
    page = methods_table.page(results, {}, "methods.svg", ("python x.py", "Measured with this model."))
    assert "| `default` (cross-validated) | .970 | 12% | .970 | 12% | 3.0 |" in page
    row = ".930 | 12% | +0.040 [+0.030, +0.050]"
    assert f"| resiliparse | {row} | {row} | 3.0 |" in page
    assert f"(resiliparse {PEERS['resiliparse'].version})" in page
    assert "- Measured with this model." in page


def test_a_group_of_few_hosts_is_shown_without_an_interval():
    figures = measured(0.5)
    figures.whole["intervals"] = dict.fromkeys(figures.whole["intervals"])
    (table,) = report.tables({"wcxb-dev": {"pab": figures}})
    assert table.rows[0][:4] == ["wcxb-dev", "pab", "9", "0.500"]
