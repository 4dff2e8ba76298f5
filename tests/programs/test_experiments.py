"""The program of the papers' experiments: each on a few pages, its rules of judgement, and the papers' figures."""

import json
import re
import runpy
import sys
from collections import Counter
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
import pytest

# The programs in tests/ find each other there, and the example that reads WebKB.
sys.path.append(str(Path(__file__).parents[2] / "docs" / "examples" / "mining"))

import corpus
import experiments
import findings
import pab_blocks
import pab_classes
import pab_search
import pab_size
import pab_titles
import present
import provenance
import stand_ins
import stored
import subtree_levels
import thresholds
import vce_blocks
import verdicts
import weighted_1
import weighted_2
import weighted_3
from categories import Labelled
from findings import Outcome
from scans import add, find, scanned, vocabulary

from cleaning import METHODS, parse
from cleaning.clean import decide_leaves
from cleaning.options import Options
from crawler.fetching.render.browser import Browser
from crawler.reading.search import search
from crawler.storage.database import read_transaction

PROGRAM = Path(__file__).parents[1] / "research" / "experiments.py"
FEW = 3
WEIGHTED = (weighted_1, weighted_2, weighted_3)
WITHOUT_BROWSER = [name for name in experiments.EXPERIMENTS if name not in {"vce", "thresholds"}]


@pytest.mark.parametrize("name", WITHOUT_BROWSER)
def test_an_experiment_runs_on_a_few_pages_and_all_that_it_gives_can_be_shown(name, data, tmp_path):
    finding = experiments.EXPERIMENTS[name].run(FEW)
    check_shape(finding)
    present.draw(tmp_path / "one.svg", finding)
    present.draw(tmp_path / "two.svg", finding)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    section = present.section(name, finding, "plot.svg")
    assert all(f"| {verdict.claim} | {verdict.outcome} | " in section for verdict in finding.verdicts)
    assert all(f"Absent: {method}: " in section for method in finding.absent)


def check_shape(finding):
    """Assert that tables and panels are whole, and that paper and ours stand in both."""
    assert all(len(row) == len(figures.head) for figures in finding.tables for row in figures.rows)
    assert all(isinstance(cell, str) for figures in finding.tables for row in figures.rows for cell in row)
    words = {word for row in finding.tables[0].rows for cell in row for word in re.findall(r"paper|ours", cell)}
    assert words == {"paper", "ours"}
    for panel in finding.panels:
        assert all(len(values) == len(panel.ticks) for values in panel.series.values())
    assert finding.verdicts


def test_vce_is_measured_in_a_browser(data, chromium, temporary):
    samples = stand_ins.articles(2, None)
    with Browser(executable=chromium, seconds=120) as browser:
        scored = vce_blocks.measure(samples, browser)
    assert list(scored) == samples
    for block in (block for scores in scored.values() for block in scores.values()):
        assert 0 <= min(block.recall, block.precision) <= block.f <= max(block.recall, block.precision) <= 1


def test_every_block_is_kept_or_dropped(data):
    samples = stand_ins.articles(FEW, None)
    by_method = pab_blocks.measure(samples)
    for method, measured in by_method.items():
        leaves = [len(decide_leaves(stand_ins.read(sample), METHODS[method], Options())) for sample in samples]
        assert [page.total() for page in measured.pages] == leaves
        for reading in pab_blocks.READINGS:
            assert measured.noise(reading).sum() == measured.count(reading).noise
        assert len(measured.seconds) == len(samples)
        assert min(measured.seconds) > 0


def test_noise_of_pab_is_what_has_no_priority_and_merged_blocks_are_informative():
    body = (
        "<title>Tides</title><p>The ferry</p><p>The ferry</p><li>Plain</li><p><a href=http://other.example>Out</a></p>"
        "<form><p>Search</p></form><li></li><p></p>outside"
    )
    sample = Page(body.encode(), "http://here.example/")
    by_method = pab_blocks.measure([sample])
    pab, eniw = by_method["pab"], by_method["eniw"]
    assert pab.count(pab_blocks.WITH_TEXT) == pab_blocks.Counted(informative=3, noise=2)
    assert pab.count(pab_blocks.WITH_EMPTY) == pab_blocks.Counted(informative=4, noise=3)
    assert eniw.count(pab_blocks.WITH_TEXT) == pab_blocks.Counted(informative=5, noise=1)
    assert eniw.count(pab_blocks.WITH_EMPTY) == pab_blocks.Counted(informative=5, noise=3)


@dataclass(frozen=True)
class Page:
    """A page as the experiments read it."""

    body: bytes
    url: str


def test_all_kept_blocks_of_all_pages_are_stored_and_found(data, tmp_path):
    samples = stand_ins.articles(FEW, None)
    kept = [
        [decision for decision in stand_ins.decide(stand_ins.read(sample), "pab") if decision.kept]
        for sample in samples
    ]
    size = pab_size.measure("pab", samples)
    assert size.blocks == sum(map(len, kept))
    assert size.of_pages == [sum(len(decision.block.text) for decision in of_page) for of_page in kept]
    assert size.database > size.text
    holding = sum(any("the" in decision.block.text.lower().split() for decision in of_page) for of_page in kept)
    with stored.stored(tmp_path / "blocks.db", "pab", samples) as engine, read_transaction(engine) as connection:
        assert holding <= len(search(connection, "the", limit=FEW)) <= FEW


PAGE = parse(
    "<title>Tides</title><p>The computer counts the tides of the harbour.</p><li>No computer</li>"
    "<p><b>computer</b></p><form><p>computer</p></form>bare computer",
    "http://example.org/",
)


def test_scans_read_fewer_blocks_where_more_is_dropped_and_rank_by_density_and_priority(tmp_path):
    with scanned(tmp_path / "scans.db", []) as tables:
        add(tables, 0, PAGE)
        add(tables, 1, parse("<p>Computer science for all.", "http://example.org/2"))
        counts = {name: tables.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in pab_search.NAMES}
        assert counts["raw"] > counts["eniw"] > counts["pab"] > 0
        assert find(tables, "raw", "computer") == [(0, 1.0), (1, 0.25)]
        ranks = dict(find(tables, "pab", "computer"))
        assert ranks == {0: pytest.approx(0.5), 1: pytest.approx(0.1 / 4)}
        assert find(tables, "pab", "absent") == []
        assert {"tides", "harbour", "science"} <= set(vocabulary(tables, "pab"))


def test_a_case_of_bayes_is_learned_from_other_pages_only():
    texts = {"raw": ["alpha beta"] * 30 + ["gamma delta"] * 30, "empty": [""] * 60}
    pages = [Labelled("ab"[n // 30], {name: of[n] for name, of in texts.items()}) for n in range(60)]
    splits = pab_classes.measure(pages)
    assert list(splits) == list(pab_classes.TESTED)
    assert [len(set(of_case[0].tested)) for of_case in splits.values()] == [10, 20, 30, 30, 30, 30, 30]
    assert (pab_classes.accuracies(splits, "raw") == 1).all()
    # What is left where there are no words is the class of most known pages, of which fewer are tested.
    assert pab_classes.accuracies(splits, "empty").mean() < 0.5


def test_every_page_is_classed_once_by_the_models_of_other_hosts_and_a_title_is_given_once():
    pages = [
        Labelled(
            "ab"[n % 2], {"raw": f"{'alpha' if n % 2 else 'gamma'} Number", "empty": ""}, f"{n // 4}.example", "Number"
        )
        for n in range(60)
    ]
    splits = pab_titles.measure(pages)
    assert sorted(number for split in splits for number in split.tested) == list(range(60))
    for split in splits:
        others = set(range(60)) - set(split.tested.tolist())
        assert not {pages[number].host for number in split.tested} & {pages[number].host for number in others}
        assert split.right["raw"].all()
    assert pages[0].with_title().texts == {"raw": "Number\ngamma Number", "empty": "Number\n"}
    assert pages[0].with_title().with_title().texts == pages[0].with_title().texts


@pytest.mark.usefixtures("data", "chromium", "temporary")
def test_every_threshold_is_swept_on_its_pages(monkeypatch, tmp_path):
    monkeypatch.setattr(thresholds, "SECONDS", 120)  # a busy machine is slow to render
    finding = thresholds.run(FEW)
    check_shape(finding)
    present.draw(tmp_path / "thresholds.svg", finding)
    swept = [(row[0], row[1]) for row in finding.tables[0].rows]
    assert {(sweep.pages, sweep.option): len(sweep.values) for sweep in thresholds.SWEEPS} == Counter(swept)
    assert len(finding.verdicts) == len(finding.panels) == len(thresholds.SWEEPS)


def test_sweeps_hold_the_defaults_and_change_one_option():
    for sweep in thresholds.SWEEPS:
        assert sweep.default in sweep.values
        assert sweep.options(sweep.default) == Options()
        for value in sweep.values:
            assert getattr(sweep.options(value), sweep.option) == value
    swept = {sweep.option for sweep in thresholds.SWEEPS}
    ours = {"max_bytes", "max_blocks", "favour", "comments", "eniw_noise", "weighted_alpha", "weighted_beta"}
    assert swept | ours == {option.name for option in fields(Options)}


@pytest.mark.parametrize(
    ("other", "outcome"),
    [(0.9, Outcome.NOT_REPRODUCED), (0.4, Outcome.REPRODUCED), (None, Outcome.UNDECIDED)],
)
def test_a_threshold_is_judged_against_the_best_of_the_others(other, outcome):
    sweep = thresholds.Sweep("econ_min_marks", (1, 2), thresholds.OURS)
    default = np.linspace(0.4, 0.6, 20)
    of_other = default + np.tile([0.3, -0.29], 10) if other is None else np.full(20, other)
    verdict = thresholds.judge(sweep, {1: default, 2: of_other}, [f"{n}.example" for n in range(20)])
    assert verdict.outcome == outcome


def test_pages_that_hold_their_styles_link_to_none(data):
    for sample in stand_ins.articles_with_styles(5):
        assert b"<style" in sample.body
        assert not re.search(rb"<link[^>]*rel=.?stylesheet", sample.body)


def test_the_papers_sums_are_right():
    assert all(row.informative + row.noise == pab_blocks.TOTAL for row in pab_blocks.PAPER.values())
    assert all(sum(counts) == 100 for counts in subtree_levels.PAPER.values())
    for paper in (module.PAPER for module in WEIGHTED):
        assert all(paper.mean(name) == pytest.approx(printed, abs=0.0051) for name, printed in paper.printed.items())
    # What a restored formula gives of table 4.3.2.
    assert pab_classes.standard_error(pab_classes.PAPER["pab"]) == pytest.approx(0.0154, abs=5e-5)
    assert pab_classes.standard_error(pab_classes.PAPER["eniw"]) == pytest.approx(0.0091, abs=5e-5)


def test_the_papers_figures_are_those_of_the_notes_on_the_papers(data):
    notes = corpus.DATA.parent / "METHODS.md"
    if not notes.exists():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no {notes}")
    text = notes.read_text("utf-8")
    rows = re.findall(r"^\| [123] [a-z ]+ \| (.+) \|$", text, re.MULTILINE)
    for module, row in zip(WEIGHTED, rows, strict=True):
        printed = re.findall(r"(\d+)/(\d+)/(\d+) \**([\d.]+)\**", row)
        assert [tuple(map(int, counts)) for *counts, _ in printed] == list(module.PAPER.right.values())
        assert [float(mean) for *_, mean in printed] == list(module.PAPER.printed.values())
    blocks = [f"{row.informative:,} / {row.noise:,}" for row in pab_blocks.PAPER.values()]
    bayes = [" ".join(f"{100 * share:g}" for share in pab_classes.PAPER[method]) for method in ("pab", "eniw")]
    searched = [f"{row.seconds:.3f} / {row.pages}".lstrip("0") for row in reversed(pab_search.PAPER.values())]
    assert f"| informative / noise blocks of {pab_blocks.TOTAL:,} | {' | '.join(blocks)} |" in text
    assert f"| extraction, s | {' | '.join(str(row.seconds) for row in pab_blocks.PAPER.values())} |" in text
    assert f"| database, MB | {' | '.join(map(str, pab_size.PAPER.values()))} |" in text
    assert f"| {' | '.join(bayes)} |" in text
    assert f"| {' | '.join(searched)} |" in text
    levels = (f"{name} {'/'.join(map(str, counts))}" for name, counts in subtree_levels.PAPER.items())
    assert ", ".join(levels) in text
    site = vce_blocks.PAPER["kfe"]["CBS"]
    assert f"| CBS | 1 / 1 / 1 | {' / '.join(f'{value:g}'.removeprefix('0') for value in astuple(site))} |" in text


def test_a_finding_is_written_between_its_marks_and_the_rest_stays(tmp_path):
    page, (begin, end) = tmp_path / "page.md", present.marks("x")
    page.write_text(f"Before.\n{begin}\nold\n{end}\nAfter.\n", "utf-8")
    table = present.Figures("T", ("a", "b"), [["1", "2"]])
    panel = findings.Panel("p", ("t",), {"s": [None]}, "%")
    verdict = verdicts.undecided("c", "r")
    finding = findings.Finding(
        "Title", "place", "pages", (table,), (panel,), (verdict,), ("eniw",), (), {"m": "why"}, ("note",)
    )
    for _ in range(2):
        present.write(page, "x", finding, "x/x.svg")
    written = page.read_text("utf-8")
    assert written.startswith(f"Before.\n{begin}\n\n### `x`: Title\n")
    measured = provenance.Stamp.of(("eniw",), ())
    assert written.endswith(f"- Absent: m: why.\n- note\n- {measured}\n\n{end}\nAfter.\n")
    assert "| c | cannot be judged | r |" in written
    page.write_text("nothing", "utf-8")
    with pytest.raises(ValueError, match="the page has no marks for x"):
        present.write(page, "x", finding, "x/x.svg")


@pytest.fixture
def program(monkeypatch, capsys):
    """Run the program in this process, which has its libraries already; return its exit code and output."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["experiments.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(PROGRAM), run_name="__main__")
        return ended.value.code, capsys.readouterr()

    return run


def test_the_program_prints_plots_and_writes(program, data, tmp_path):
    page, plots = tmp_path / "page.md", tmp_path / "plots"
    names = (present.SUMMARY, *experiments.EXPERIMENTS)
    page.write_text("\n".join(mark for name in names for mark in present.marks(name)), "utf-8")
    code, printed = program("subtree", "--pages", "2", "--json", "--plot", plots, "--write", page)
    assert code == 0
    finding = json.loads(printed.out)["subtree"]
    assert finding["title"] == "Levels of noise eliminated"
    assert {verdict["outcome"] for verdict in finding["verdicts"]} <= set(Outcome)
    assert (plots / "subtree.svg").exists()
    assert (tmp_path / "page" / "subtree.svg").exists()
    written = page.read_text("utf-8")
    assert "(page/subtree.svg)" in written
    counts = [sum(verdict["outcome"] == outcome for verdict in finding["verdicts"]) for outcome in Outcome]
    assert f"(#subtree-levels-of-noise-eliminated) | {' | '.join(map(str, counts))} |" in written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "invalid choice: 'nothing'"),
        (["vce", "--pages", "0"], "--pages is 0; it is 1 at least"),
        (["vce", "--write", "nowhere.md"], "--write: there is no page nowhere.md"),
    ],
)
def test_the_program_refuses_what_it_cannot_do(arguments, message, data, program):
    code, printed = program(*arguments)
    assert code == 2
    assert message in printed.err


def test_the_program_lists_every_experiment(program):
    code, printed = program("list")
    assert code == 0
    assert [line.split()[0] for line in printed.out.splitlines()] == list(experiments.EXPERIMENTS)


def test_the_program_goes_on_without_a_browser_and_says_so(program, data, monkeypatch):
    monkeypatch.setenv("PATH", "")
    code, printed = program("vce", "--pages", "1")
    assert code == 1
    assert "vce was not run: " in printed.err


def test_the_program_goes_on_without_a_part_of_the_data_and_says_which(program, monkeypatch, tmp_path):
    monkeypatch.setattr(corpus, "DATA", tmp_path)
    code, printed = program("pab-classes")
    assert code == 1
    assert "pab-classes was not run: " in printed.err
    assert str(tmp_path / "categories" / "webkb.tar.gz") in printed.err


def test_the_published_page_has_every_experiment_with_its_claims_and_plot():
    page = (corpus.ROOT / "docs" / "experiments.md").read_text("utf-8")
    for name in experiments.EXPERIMENTS:
        begin, end = present.marks(name)
        section = page.split(begin)[1].split(end)[0]
        assert section.startswith(f"\n\n### `{name}`: ")
        assert "**Claims**" in section
        assert (corpus.ROOT / "docs" / "experiments" / f"{name}.svg").exists()


# What the words of docs/experiments.md say; whoever writes the tables anew is told where the words are no longer true.
SAID = {
    "both methods cut the pages into the same blocks": Outcome.UNDECIDED,
    "PAB drops more blocks than ENIW: blocks with text": Outcome.REPRODUCED,
    "PAB drops 6.9 % of all blocks: blocks with text": Outcome.NOT_REPRODUCED,
    "PAB takes less time than ENIW": Outcome.NOT_REPRODUCED,
    "PAB's blocks take less room than ENIW's": Outcome.REPRODUCED,
    "PAB's database is 86 % of ENIW's: ours on SQLite": Outcome.REPRODUCED,
    "PAB's text is classed better than ENIW's": Outcome.UNDECIDED,
    "PAB reaches about 90 % with 70 test pages": Outcome.REPRODUCED,
    "50 words: PAB is searched faster than ENIW": Outcome.REPRODUCED,
    "PAB takes a twentieth of ENIW's time": Outcome.NOT_REPRODUCED,
    "proposed gets more pages right than tags": Outcome.REPRODUCED,
    "proposed gets more pages right than coreex": Outcome.NOT_REPRODUCED,
    "proposed gets more pages right than econ": Outcome.NOT_REPRODUCED,
    "proposed leaves a better text than nothing, by mean F1": Outcome.NOT_REPRODUCED,
    "modified simhash gets more pages right than simhash": Outcome.UNDECIDED,
    "modified simhash leaves a better text than nothing removed, by mean F1": Outcome.REPRODUCED,
    "proposed leaves a better text than proposed, before the score, by mean F1": Outcome.NOT_REPRODUCED,
    "about 95 % of the pages are of level A: Chinese": Outcome.NOT_REPRODUCED,
    "about 95 % of the pages are of level A: Chinese, of the four portals": Outcome.NOT_REPRODUCED,
    "about 95 % of the pages are of level A: news in many languages": Outcome.NOT_REPRODUCED,
    "VCE's block F is above K-FE's: without linked styles": Outcome.NOT_REPRODUCED,
    "VCE's block F is above K-FE's: with all their styles": Outcome.NOT_REPRODUCED,
    "PAB's text is classed better than ENIW's: WebKB, title given": Outcome.UNDECIDED,
    "PAB's text is classed better than raw text: types of wcxb-dev, as kept": Outcome.UNDECIDED,
    "pab_outer_share = 0.5: no tried value leaves a better text (English)": Outcome.NOT_REPRODUCED,
    "weighted_gamma = 0.4: no tried value leaves a better text (English)": Outcome.NOT_REPRODUCED,
    "subtree_generations = 2: no tried value leaves a better text (Chinese)": Outcome.REPRODUCED,
    "subtree_alpha = 40: no tried value leaves a better text (English)": Outcome.UNDECIDED,
    "kfe, CBS: the printed F can be, with this recall and precision": Outcome.CONTRADICTED,
}


@pytest.mark.parametrize(("claim", "outcome"), SAID.items())
def test_the_words_of_the_published_page_are_those_of_its_verdicts(claim, outcome):
    page = (corpus.ROOT / "docs" / "experiments.md").read_text("utf-8")
    assert f"\n| {claim} | {outcome} | " in page


def test_search_md_tells_the_papers_share_of_blocks_from_ours():
    page = (corpus.ROOT / "docs" / "experiments.md").read_text("utf-8")
    shares = dict(re.findall(r"^\| pab \| (paper|ours) \| [\d,]+ \| (\d+)% \|", page, re.MULTILINE))
    told = " ".join((corpus.ROOT / "docs" / "search.md").read_text("utf-8").split())
    assert f"{shares['paper']} % of them are left for PAB: that share is the paper's" in told
    assert f"On real pages PAB keeps {shares['ours']} % of the texts" in told
