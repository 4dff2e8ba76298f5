"""Classify pages with Naive Bayes: from the whole text of each page, and from its exported text.

python topics.py PAGES.parquet FOLDER

PAGES.parquet is an export (`scrapy export PAGES.parquet --pages`) of the pages in FOLDER, which webkb.py creates. The
pages of each university are classified by a model of the other universities, so text that a site repeats does not help.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import nltk
import numpy as np
import pandas as pd
from lxml import etree, html
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import accuracy_score, f1_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

WORD = r"[^\W\d_]{2,}"
MOST_WORDS = 500  # the words whose presence NLTK's classifier uses
EVERYWHERE = "misc"  # WebKB's folder of universities with few pages: used for training only


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    pages = load(options.export, options.folder)
    print(f"{len(pages):,} pages of {pages['class'].nunique()} classes")
    print(f"{'text':<10}{'words':>12}  {'classifier':<16}{'accuracy':>9}{'macro F1':>9}")
    for text in ("raw", "cleaned"):
        words = pages[text].str.count(WORD).sum()
        for name, classify in (("scikit-learn", by_sklearn), ("NLTK", by_nltk)):
            expected, predicted = held_out(pages, text, classify)
            accuracy = accuracy_score(expected, predicted)
            macro = f1_score(expected, predicted, average="macro")
            print(f"{text:<10}{words:>12,}  {name:<16}{accuracy:>9.3f}{macro:>9.3f}", flush=True)


def load(export: Path, folder: Path) -> pd.DataFrame:
    """Return a row for each page that was exported: class, university, raw text, and title with cleaned text."""
    exported = pd.read_parquet(export, columns=["url", "title", "text"])
    cleaned = exported[["url"]].assign(cleaned=exported["title"].fillna("") + "\n" + exported["text"])
    index = pd.read_csv(folder / "index.tsv", sep="\t", quoting=3)
    pages = pd.read_csv(folder / "labels.csv").merge(index, on="url").merge(cleaned, on="url")
    return pages.assign(raw=[raw_text((folder / name).read_bytes()) for name in pages["file"]])


def raw_text(body: bytes) -> str:
    """Return all text of a page but for scripts and styles."""
    tree = html.document_fromstring(body or b"<p>")
    etree.strip_elements(tree, "script", "style", etree.Comment, with_tail=False)
    return " ".join(tree.itertext())


def held_out(pages: pd.DataFrame, text: str, classify) -> tuple[np.ndarray, np.ndarray]:  # noqa: ANN001 — a function
    """Return the classes of pages, and the classes predicted after training on the other universities."""
    expected, predicted = [], []
    for university in sorted(set(pages["university"]) - {EVERYWHERE}):
        here = pages["university"] == university
        predicted.append(classify(pages[~here], pages[here], text))
        expected.append(pages[here]["class"].to_numpy())
    return np.concatenate(expected), np.concatenate(predicted)


def by_sklearn(known: pd.DataFrame, new: pd.DataFrame, text: str) -> np.ndarray:
    """Count words, and class by the multinomial model."""
    counts = CountVectorizer(token_pattern=f"(?u){WORD}", stop_words="english", min_df=2)
    return make_pipeline(counts, MultinomialNB()).fit(known[text], known["class"]).predict(new[text])


def by_nltk(known: pd.DataFrame, new: pd.DataFrame, text: str) -> np.ndarray:
    """Look which frequent words a page has, and class by that."""
    words, fresh = (table[text].str.lower().str.findall(WORD).map(set) for table in (known, new))
    frequent = [word for word, _ in Counter(word for page in words for word in sorted(page)).most_common(MOST_WORDS)]
    features = [{word: word in page for word in frequent} for page in words]
    model = nltk.NaiveBayesClassifier.train(list(zip(features, known["class"], strict=True)))
    return np.array(model.classify_many({word: word in page for word in frequent} for page in fresh))


if __name__ == "__main__":
    main()
