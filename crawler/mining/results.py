"""The results of mining for people and programs: as tables on a terminal, as JSON, as rows, and as an HTML report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from crawler.errors import MiningError
from crawler.mining.classification import Classification
from crawler.mining.clustering import Clustering
from crawler.mining.patterns import Patterns
from crawler.mining.trends import Trends
from crawler.reports.inert_page import check_output, render_page, write_page
from crawler.terminal import count_of, make_console, make_table, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from crawler.mining.documents import Document
    from crawler.mining.term_counts import TermCounts

MiningResult = Classification | Clustering | Patterns | Trends

OUT_SUFFIXES = (".csv", ".jsonl", ".parquet")
_TEMPLATES = {
    Classification: "classification",
    Clustering: "clustering",
    Patterns: "patterns",
    Trends: "trends",
}
_MISTAKES_SHOWN = 50
_PER_DOCUMENT = ("predictions", "unlabelled", "members")
_SPARK_WIDTH, _SPARK_HEIGHT = 120, 24
_PLOT_WIDTH, _PLOT_HEIGHT = 640, 200


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of a result: its title, the names of its columns, and its rows."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]


def print_result(result: MiningResult, counts: TermCounts) -> None:
    """Print what was mined, and its tables."""
    out = make_console()
    out.print(printable(describe_counts(counts)), highlight=False)
    for table in result_tables(result):
        out.print()
        out.print(make_table(table.title, table.columns, table.rows))


def describe_counts(counts: TermCounts) -> str:
    """Return a sentence about the documents that were mined."""
    left_out = f", {count_of(counts.without_terms, 'document')} without any of them left out"
    return f"{count_of(len(counts.documents), 'document')}, {count_of(len(counts.terms), 'term')}" + left_out * bool(
        counts.without_terms
    )


def result_record(result: MiningResult, counts: TermCounts) -> dict[str, Any]:
    """Return a result as values for `print_json`, without what there is for each document."""
    fields = {name: value for name, value in _fields(result).items() if name not in _PER_DOCUMENT}
    size = {"documents": len(counts.documents), "terms": len(counts.terms), "without_terms": counts.without_terms}
    return fields | {"counts": size}


def _fields(result: MiningResult) -> dict[str, Any]:
    if isinstance(result, Trends):
        return asdict(result) | {"weeks": [str(week) for week in result.weeks]}
    if not isinstance(result, Clustering):
        return asdict(result)
    clusters = [
        {
            "number": cluster.number,
            "size": cluster.size,
            "terms": cluster.terms,
            "nearest": [_described(member.document) for member in cluster.nearest],
        }
        for cluster in result.clusters
    ]
    return {"clusters": clusters, "silhouettes": result.silhouettes}


def result_tables(result: MiningResult) -> list[ResultTable]:
    """Return the tables of a result, the most important first."""
    match result:
        case Classification():
            return list(_classification_tables(result))
        case Clustering():
            return list(_clustering_tables(result))
        case Patterns():
            return list(_pattern_tables(result))
        case Trends():
            return [_trend_table(result)]


def _classification_tables(result: Classification) -> Iterator[ResultTable]:
    models = [
        (
            model.name,
            f"{model.accuracy:.3f} \u00b1 {model.accuracy_error:.3f}",
            f"{model.macro_f1:.3f} \u00b1 {model.macro_f1_error:.3f}",
        )
        for model in result.models
    ]
    models.append(("the most frequent label", f"{result.baseline:.3f}", "-"))
    yield ResultTable(f"Models of {result.by}", ("model", "accuracy", "macro F1"), models)
    rows = [
        (label, sum(row), f"{row[number] / sum(row):.0%}", " ".join(result.terms[label]))
        for number, (label, row) in enumerate(zip(result.labels, result.confusion, strict=True))
    ]
    yield ResultTable("Labels", ("label", "documents", "right", "typical words"), rows)
    confused = [
        (label, answer, row[number])
        for label, row in zip(result.labels, result.confusion, strict=True)
        for number, answer in enumerate(result.labels)
        if label != answer and row[number]
    ]
    if confused:
        confused.sort(key=lambda row: -int(row[2]))
        yield ResultTable("Confused most often", ("label", "predicted", "documents"), confused[:10])


def _clustering_tables(result: Clustering) -> Iterator[ResultTable]:
    rows = [
        (
            cluster.number,
            cluster.size,
            " ".join(cluster.terms),
            cluster.nearest[0].document.title or cluster.nearest[0].document.url,
        )
        for cluster in result.clusters
    ]
    yield ResultTable("Clusters", ("cluster", "documents", "typical words", "nearest to its centre"), rows)
    silhouettes = [(number, f"{value:.3f}") for number, value in result.silhouettes.items()]
    yield ResultTable("Numbers of clusters", ("clusters", "silhouette"), silhouettes)


def _pattern_tables(result: Patterns) -> Iterator[ResultTable]:
    sets = [(" + ".join(term_set.terms), term_set.documents, f"{term_set.share:.1%}") for term_set in result.sets]
    yield ResultTable("Terms that occur together", ("terms", "documents", "share"), sets)
    rules = [
        (
            " + ".join(rule.antecedent),
            " + ".join(rule.consequent),
            rule.documents,
            f"{rule.confidence:.0%}",
            f"{rule.lift:.1f}",
        )
        for rule in result.rules
    ]
    yield ResultTable("Rules", ("if", "then", "documents", "confidence", "lift"), rules)
    pairs = [(" ".join(pair.words), pair.count, f"{pair.ratio:.0f}") for pair in result.collocations]
    yield ResultTable("Collocations", ("words", "count", "log-likelihood ratio"), pairs)


def _trend_table(result: Trends) -> ResultTable:
    rows = [
        (term.word, sum(term.documents[-result.recent_weeks :]), f"{term.times:.1f}", f"{term.ratio:.0f}")
        for term in result.rising
    ]
    since = result.weeks[-result.recent_weeks]
    return ResultTable(f"Rising since {since}", ("word", "documents", "times", "log-likelihood ratio"), rows)


def result_rows(result: MiningResult) -> list[dict[str, Any]]:
    """Return a row for each document with its label or cluster; for patterns and trends one for each rule or term."""
    match result:
        case Classification():
            return [
                _described(row.document)
                | {"label": row.label, "predicted": row.predicted, "confidence": round(row.confidence, 6)}
                for row in (*result.predictions, *result.unlabelled)
            ]
        case Clustering():
            names = {cluster.number: cluster.name for cluster in result.clusters}
            return [
                _described(member.document)
                | {
                    "cluster": member.cluster,
                    "terms": names[member.cluster],
                    "similarity": round(member.similarity, 6),
                }
                for member in result.members
            ]
        case Patterns():
            return [
                asdict(rule) | {"antecedent": " ".join(rule.antecedent), "consequent": " ".join(rule.consequent)}
                for rule in result.rules
            ]
        case Trends():
            return [
                {"word": term.word, "times": term.times, "ratio": term.ratio}
                | {str(week): count for week, count in zip(result.weeks, term.documents, strict=True)}
                for term in result.rising
            ]


def write_rows(result: MiningResult, path: Path) -> int:
    """Write the rows of a result to a CSV, JSON lines or Parquet file; return how many.

    Raises MiningError for another suffix and if the file cannot be written.
    """
    rows = result_rows(result)
    frame = pd.DataFrame(rows)
    try:
        match path.suffix.lower():
            case ".csv":
                frame.to_csv(path, index=False, lineterminator="\n")
            case ".jsonl":
                frame.to_json(path, orient="records", lines=True, force_ascii=False)
            case ".parquet":
                frame.to_parquet(path, index=False)
            case _:
                raise MiningError(f"--out {str(path)!r} must end in {', '.join(OUT_SUFFIXES)}")
    except OSError as error:
        raise MiningError(f"--out {str(path)!r} cannot be written: {error.strerror or error}") from error
    return len(rows)


def write_report(result: MiningResult, counts: TermCounts, path: Path, source: str) -> None:
    """Write a result as an HTML page with pictures. Raises CompareError if it cannot be written."""
    check_output(path)
    document = render_page(
        _TEMPLATES[type(result)],
        "crawler.mining",
        result=result,
        source=source,
        facts=describe_counts(counts),
        mistakes=_mistakes(result),
        tables={table.title: table for table in result_tables(result)},
        spark=spark_points,
        plot=plot_points,
        heat=_heat,
    )
    write_page(path, document)


def _mistakes(result: MiningResult) -> list[Any]:
    """Return the documents that the best model is most sure and wrong about."""
    if not isinstance(result, Classification):
        return []
    wrong = [row for row in result.predictions if row.label != row.predicted]
    return sorted(wrong, key=lambda row: (-row.confidence, row.document.id))[:_MISTAKES_SHOWN]


def spark_points(values: Sequence[float]) -> str:
    """Return the points of a small line, the largest value at the top."""
    return _points(values, _SPARK_WIDTH, _SPARK_HEIGHT)


def plot_points(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return the places of values in a plot of 640 by 200 pixels."""
    points = (point.split(",") for point in _points(values, _PLOT_WIDTH, _PLOT_HEIGHT).split())
    return [(float(x), float(y)) for x, y in points]


def _points(values: Sequence[float], width: int, height: int) -> str:
    low = min([*values, 0.0])
    span = max([*values, low + 1e-9]) - low
    step = width / max(1, len(values) - 1)
    places = ((place * step, height - (value - low) / span * height) for place, value in enumerate(values))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _heat(count: int, row: Iterable[int]) -> int:
    """Return the tenths of a row's documents that a cell has."""
    return round(10 * count / max(1, sum(row)))


def _described(document: Document) -> dict[str, Any]:
    return {"id": document.id, "url": document.url, "title": document.title}
