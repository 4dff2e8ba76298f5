"""Classes of pages by Naive Bayes, from raw text and from what each method keeps (pab.txt, 4.3 and 4.4)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import topics
from categories import CLASSES, METHOD_NAMES, RAW, load
from findings import Finding, Panel
from report import Figures
from scipy.sparse import csr_array
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from verdicts import judge_ahead, judge_follows, judge_less, judge_reached, judge_spread

from cleaning.terms import count_words

TESTED = (10, 20, 30, 40, 50, 60, 70)
SPLITS = 7
# Table 4.3.2, shares.
PAPER = {
    "eniw": (0.80, 0.85, 0.83, 0.85, 0.86, 0.833, 0.80),
    "pab": (0.80, 0.80, 0.83, 0.86, 0.88, 0.883, 0.90),
}
# The text below it: pages that were classed rightly.
TEXT = {"eniw": (8, 15, 25, 34, 43, 50, 56), "pab": (8, 16, 25, 35, 44, 53, 63)}
# Table 4.4.1.
ERRORS = {"pab": 0.1496, "eniw": 0.20396}
ABOUT = 0.9  # the conclusion: "about 90 percent"
_HALF_OF_LAST_DIGIT, _HALF_A_PERCENT = 5e-5, 5e-3
_SEED = 2015
_FEWEST_PAGES = 2  # that a word is learned from
_NOTE = (
    f"Each case draws its test pages {SPLITS} times, the same for all texts and at most half of all, and learns from "
    "the others; the paper draws once. ± is σ/√7 over the draws. Words are counted as docs/examples/mining/topics.py "
    "does, and classed by scikit-learn's multinomial model. PAB and ENIW keep the title as a block, the others do not."
)


@dataclass(frozen=True, slots=True)
class Split:
    """A draw of test pages: for each, whether it was classed rightly, by text."""

    tested: np.ndarray
    right: dict


def run(limit=None):
    pages = load(limit)
    splits = measure(pages)
    accuracy = {text: accuracies(splits, text) for text in (RAW, *METHOD_NAMES)}
    return Finding(
        "Accuracy of Naive Bayes on what is kept",
        "Kabir et al. 2015, sections 4.3 and 4.4, tables 4.3.1, 4.3.2 and 4.4.1",
        f"{len(pages)} pages of three classes of WebKB ({', '.join(CLASSES)}), for 500 pages of three categories of "
        "ezinearticles",
        (_cases(accuracy), _errors(accuracy), _texts(pages)),
        _panels(accuracy),
        _verdicts(splits, accuracy),
        tuple(METHOD_NAMES),
        ("webkb",),
        notes=(_NOTE,),
    )


def measure(pages):
    """Return the splits of each case."""
    labels = np.array([page.label for page in pages])
    counts = {text: count_terms([page.texts[text] for page in pages]) for text in pages[0].texts}
    random = np.random.default_rng(_SEED)
    splits = {}
    for tested in TESTED:
        size = min(tested, len(pages) // 2)
        draws = [random.choice(len(pages), size, replace=False) for _ in range(SPLITS)]
        splits[tested] = [classify(counts, labels, np.sort(draw)) for draw in draws]
    return splits


def count_terms(texts):
    """Return the counts of the words of texts, a row a text."""
    counter = CountVectorizer(token_pattern=f"(?u){topics.WORD}", stop_words="english")
    return counter.fit_transform(texts) if any(map(counter.build_analyzer(), texts)) else csr_array((len(texts), 0))


def classify(counts, labels, tested):
    """Class the pages that are tested by what the others teach, from each text; return the Split."""
    known = np.setdiff1d(np.arange(len(labels)), tested)
    right = {}
    for text, table in counts.items():
        often = np.asarray((table[known] > 0).sum(axis=0)).ravel() >= _FEWEST_PAGES
        # Of pages without a word the most frequent class is all that is known.
        model = (MultinomialNB() if often.any() else DummyClassifier()).fit(table[known][:, often], labels[known])
        right[text] = model.predict(table[tested][:, often]) == labels[tested]
    return Split(tested, right)


def accuracies(splits, text):
    """Return the accuracy of each split, a row for each case."""
    return np.array([[split.right[text].mean() for split in of_case] for of_case in splits.values()])


def standard_error(values):
    """Return the sample standard deviation over the root of how many there are (equation 3, as METHODS restores it)."""
    return np.std(values, ddof=1) / len(values) ** 0.5


def _differences(splits, text, other_text):
    """Return for each tested page how much oftener it was classed rightly from one text than from the other."""
    differences_by_page = defaultdict(list)
    for split in (split for of_case in splits.values() for split in of_case):
        for page, difference in zip(split.tested, split.right[text].astype(int) - split.right[other_text], strict=True):
            differences_by_page[int(page)].append(difference)
    return {page: np.mean(differences) for page, differences in differences_by_page.items()}


def _verdicts(splits, accuracy):
    ahead = _differences(splits, "pab", "eniw")
    last = {"right": [], "page": []}
    for split in splits[TESTED[-1]]:
        last["right"] += split.right["pab"].tolist()
        last["page"] += [str(page) for page in split.tested]
    errors = [standard_error(PAPER[method]) for method in ("pab", "eniw")]
    mean = float(np.mean(PAPER["pab"]))
    steady, wild = (accuracy[method].mean(axis=1) for method in ("pab", "eniw"))
    return (
        judge_ahead("PAB's text is classed better than ENIW's", list(ahead.values()), [str(page) for page in ahead]),
        judge_reached("PAB reaches about 90 % with 70 test pages", last["right"], last["page"], ABOUT),
        judge_spread("PAB's standard error is smaller than ENIW's: ours", steady, wild),
        judge_less("PAB's standard error is smaller than ENIW's: of the paper's table 4.3.2", *errors),
        judge_follows(
            "PAB's accuracy is about 90 % (the conclusion): the mean of table 4.3.2", ABOUT, mean, _HALF_A_PERCENT
        ),
        *(_error_follows(method) for method in ERRORS),
        *(_text_agrees(method) for method in PAPER),
    )


def _error_follows(method):
    claim = f"{method.upper()}'s standard error (table 4.4.1) follows from table 4.3.2"
    return judge_follows(claim, ERRORS[method], standard_error(PAPER[method]), _HALF_OF_LAST_DIGIT)


def _text_agrees(method):
    """Judge the case in which the table is farthest from the counts of the text."""
    shares = [count / tested for count, tested in zip(TEXT[method], TESTED, strict=True)]
    worst = max(range(len(TESTED)), key=lambda case: abs(shares[case] - PAPER[method][case]))
    claim = f"{method.upper()}'s accuracies are those of the counts in the text (case {worst + 1}, the farthest)"
    return judge_follows(claim, PAPER[method][worst], shares[worst], _HALF_A_PERCENT)


def _cases(accuracy):
    rows = []
    for method, shares in PAPER.items():
        counted = [count / tested for count, tested in zip(TEXT[method], TESTED, strict=True)]
        pooled = sum(TEXT[method]) / sum(TESTED)
        rows.append([f"paper: {method}, the table", *map(_percent, shares), _percent(np.mean(shares))])
        rows.append([f"paper: {method}, counts of the text", *map(_percent, counted), _percent(pooled)])
    rows += [[f"ours: {text}", *map(with_error, values), _percent(values.mean())] for text, values in accuracy.items()]
    return Figures("Table 4.3.2, %", ("test pages", *map(str, TESTED), "all"), rows)


def _percent(share):
    return f"{100 * share:.1f}"


def with_error(values):
    """Return the mean of shares and its standard error as text, in per cent."""
    return f"{_percent(values.mean())} ± {_percent(standard_error(values))}"


def _errors(accuracy):
    """Return the standard errors over the seven cases, as the paper has them."""
    rows = [
        [text, *_printed_errors(text), f"{standard_error(values.mean(axis=1)):.4f}"]
        for text, values in accuracy.items()
    ]
    head = ("text", "printed in table 4.4.1", "of the paper's table 4.3.2, σ/√7", "ours, over the seven cases")
    return Figures("Table 4.4.1", head, rows)


def _printed_errors(text):
    return [f"{ERRORS[text]:g}", f"{standard_error(PAPER[text]):.4f}"] if text in ERRORS else ["", ""]


def _texts(pages):
    rows = []
    for text in pages[0].texts:
        words = [count_words(page.texts[text]) for page in pages]
        rows.append([text, f"{sum(words):,}", f"{sum(count == 0 for count in words):,}"])
    return Figures("What is left to class by", ("text", "words", "pages without a word"), rows)


def _panels(accuracy):
    paper = {method.upper(): [100 * share for share in PAPER[method]] for method in PAPER}
    paper["ENIW by the text"] = [100 * count / tested for count, tested in zip(TEXT["eniw"], TESTED, strict=True)]
    drawn = {text: accuracy[text] for text in (RAW, "eniw", "pab", "default")}
    ours = {text: (100 * values.mean(axis=1)).tolist() for text, values in drawn.items()}
    errors = {text: [100 * standard_error(case) for case in values] for text, values in drawn.items()}
    means = {"ours": [100 * values.mean() for values in accuracy.values()]}
    return (
        Panel("paper, by test pages", TESTED, paper, "%", lines=True),
        Panel("ours, by test pages", TESTED, ours, "%", lines=True, errors=errors),
        Panel("ours, mean of all cases", tuple(accuracy), means, "%"),
    )
