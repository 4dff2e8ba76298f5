"""Published figures are those of the shipped model, of what the methods decide now, and of the data at hand."""

import re
from dataclasses import replace

import corpus
import experiments
import present
import provenance
import pytest

from cleaning import METHODS
from cleaning.classifier.shipped import SHIPPED_MODEL_SHA256

DOCS = corpus.ROOT / "docs"
# The methods whose F1 on all pages cleaning/README.md states.
STATED = ("weighted", "tags", "vce", "fe", "kfe", "pab", "eniw", "subtree")
AGAIN = "`make figures` measures them again; tests/research/provenance.py names the pages"


@pytest.fixture
def a_set(tmp_path, monkeypatch):
    """Put data of our own in the place of the development data; return the folder of the set `sites`."""
    monkeypatch.setattr(corpus, "DATA", tmp_path)
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "index.tsv").write_text("site\tfile\turl\n", "utf-8")
    return tmp_path / "sites"


@pytest.mark.parametrize("name", provenance.PAGES)
def test_the_figures_of_a_page_are_of_what_is_shipped(name):
    assert provenance.outdated((DOCS / name).read_text("utf-8")) == [], AGAIN


def test_every_page_whose_figures_were_measured_with_something_is_checked():
    stamped = [path.name for path in sorted(DOCS.glob("*.md")) if provenance.stamps(path.read_text("utf-8"))]
    assert sorted([*stamped, "model-card.md"]) == sorted(provenance.PAGES)


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_every_experiment_says_what_it_was_measured_with(name):
    begin, end = present.marks(name)
    section = (DOCS / "experiments.md").read_text("utf-8").split(begin)[1].split(end)[0]
    (stamp,) = provenance.stamps(section)
    assert stamp.data
    assert bool(stamp.model) == ("default" in stamp.methods)


def test_a_stamp_is_read_as_it_is_written(a_set):
    for methods in (("default", "pab"), ("pab",), ("vce",), ()):
        stamp = provenance.Stamp.of(methods, ("sites",))
        wrapped = re.sub(" ", "\n", f"Figures.\n\n- {stamp}\n\nMore. `x`")
        assert provenance.stamps(wrapped) == [stamp]
        assert stamp.outdated() == []


def test_figures_of_another_model_are_outdated(a_set):
    stamp = replace(provenance.Stamp.of(("default",), ("sites",)), model="0123456789ab")
    (line,) = provenance.outdated(str(stamp))
    assert line == f"the model is {provenance.model_digest()}, the figures are of 0123456789ab"


def test_figures_are_outdated_if_a_method_decides_otherwise(a_set, monkeypatch):
    stamp = provenance.Stamp.of(("pab",), ("sites",))
    monkeypatch.setattr(provenance, "METHODS", {**METHODS, "pab": METHODS["eniw"]})
    provenance.decisions_digest.cache_clear()
    (line,) = provenance.outdated(str(stamp))
    provenance.decisions_digest.cache_clear()
    assert re.fullmatch(r"the decisions of pab are \w{12}, the figures are of \w{12}", line)


def test_figures_of_other_data_are_outdated_and_missing_data_is_not_compared(a_set):
    stamp = provenance.Stamp.of((), ("sites",))
    (a_set / "index.tsv").write_text("site\tfile\turl\nbbc\t1.html\t\n", "utf-8")
    provenance.files_digest.cache_clear()
    (line,) = provenance.outdated(str(stamp))
    assert re.fullmatch(r"the data sites is \w{12}, the figures are of \w{12}", line)
    (a_set / "index.tsv").unlink()
    a_set.rmdir()
    assert provenance.outdated(str(stamp)) == []


def test_notes_about_the_pages_of_a_set_make_no_figure_old(a_set):
    stamp = provenance.Stamp.of((), ("sites",))
    (a_set / provenance.NOTES).write_text("{}\n", "utf-8")
    provenance.files_digest.cache_clear()
    assert provenance.outdated(str(stamp)) == []
    provenance.files_digest.cache_clear()


def test_a_model_card_of_another_model_is_outdated():
    card = (DOCS / "model-card.md").read_text("utf-8")
    digest = provenance.model_digest(None)
    assert card.count(digest) == 1
    assert provenance.outdated(card.replace(digest, "0" * 64)) == [
        f"the model is {digest}, the figures are of {'0' * 64}"
    ]
    assert digest == SHIPPED_MODEL_SHA256


def test_a_model_card_of_other_data_is_outdated(data):
    card = (DOCS / "model-card.md").read_text("utf-8")
    digest = re.search(r"^\| `wcxb-dev` \| .+ \| `(\w{64})` \|$", card, re.MULTILINE)[1]
    (line,) = provenance.outdated(card.replace(digest, "0" * 64))
    assert line == f"the data wcxb-dev is {digest}, the figures are of {'0' * 64}"


def test_a_page_that_says_nothing_is_an_error():
    with pytest.raises(ValueError, match="the page does not say what its figures were measured with"):
        provenance.outdated("F1 is .9. Measured with care.")


# What other pages repeat of docs/methods.md.
def methods_table():
    """Return the F1 of each method, on news and on mixed pages."""
    page = (DOCS / "methods.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)`[^|]* \| (\.\d+) \| \d+% \| (\.\d+) \|", page, re.MULTILINE)
    return {method: (news, mixed) for method, news, mixed in rows}


def sections(page):
    """Return the sections of a page by the methods in their headings."""
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {
        method: part for part in parts for method in re.findall(r"`(\w+)`", part.splitlines()[0]) if method in METHODS
    }


@pytest.mark.parametrize("method", STATED)
def test_the_f1_in_the_readme_of_cleaning_is_that_of_the_table_of_methods(method):
    text = sections((corpus.ROOT / "cleaning" / "README.md").read_text("utf-8"))[method]
    assert [f1 for f1 in methods_table()[method] if f1 not in text] == []


def test_the_readme_repeats_the_table_of_methods():
    page = (DOCS / "methods.md").read_text("utf-8")
    readme = (corpus.ROOT / "README.md").read_text("utf-8")
    rival = re.search(r"^\| trafilatura \| (\.\d+) \| \d+% \| .+? \| (\.\d+) \| (\d+)% \|", page, re.MULTILINE)
    news, mixed = methods_table()["default"]
    assert f"| {news}; {rival[1]} |" in readme
    assert f"| {mixed}; {rival[2]} |" in readme
    share = re.search(
        r"^\| wcxb-dev \| [\d,]+ \|.+\| (\d+\.\d)% \|$", (DOCS / "model-card.md").read_text("utf-8"), re.MULTILINE
    )[1]
    assert f"| {share} %; {rival[3]} % |" in readme


def test_the_architecture_repeats_what_boilerplate_is_on_saved_pages():
    page = (DOCS / "portals.md").read_text("utf-8")
    *_, kept, boilerplate = re.search(r"^\| \*\*all\*\* \|(.+)\|$", page, re.MULTILINE)[1].split("|")
    told = " ".join((DOCS / "architecture.md").read_text("utf-8").split())
    assert f"removes {boilerplate.strip()} of the {kept.strip()} blocks that the default method keeps" in told
