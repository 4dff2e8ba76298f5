"""The results of fingerprints.py as a table and as a plot."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, version

import psycopg
from rich.table import Table
from room import connect

BEGIN, END = "<!-- made by research/bench/fingerprints.py -->", "<!-- end of what is made -->"
HEAD = ("stored", "index", "built/s", "bytes", "p50 ms", "p99 ms", "added/s", "wrong")
_PANELS = {
    "milliseconds for a page of 50 (dashed: p99)": ("p50_ms", "p99_ms"),
    "bytes a fingerprint": ("bytes_each",),
    "built a second": ("built_per_second",),
    "added a second, in transactions of 50": ("added_per_second",),
}


def versions():
    """Return the version of each thing measured, None for what is not there."""
    return {
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        "PostgreSQL": _server_version(),
        "faiss-cpu": _installed("faiss-cpu"),
        "datasketch": _installed("datasketch"),
    }


def cells(row):
    """Return a row as texts in the order of HEAD; its note in place of the figures."""
    start = [f"{row['size']:,}", row["index"]]
    if "note" in row:
        return [*start, row["note"], *[""] * (len(HEAD) - 3)]
    return [
        *start,
        f"{row['built_per_second']:,}" + (" (sorted)" if row["sorted"] else ""),
        f"{row['bytes_each']:.0f}",
        f"{row['p50_ms']:.2f}",
        f"{row['p99_ms']:.2f}",
        f"{row['added_per_second']:,}",
        f"{row['wrong']}/{row['checked']}",
    ]


def terminal_table(result):
    table = Table(*HEAD, caption=_described(result))
    for row in result["rows"]:
        table.add_row(*cells(row))
    return table


def write(result, page):
    """Put the table between the marks of a Markdown page, which is made if need be, and the plot beside the page."""
    target = page.with_suffix(".svg")
    text = page.read_text("utf-8") if page.exists() else f"# The fingerprint index\n\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    lines = [HEAD, ["---"] * len(HEAD), *(cells(row) for row in result["rows"])]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    image = f"![Growth of times, sizes and rates with the number stored]({target.name})"
    page.write_text(f"{before}{BEGIN}\n\n{image}\n\n{_described(result)}.\n\n{table}\n\n{END}{after}", "utf-8")
    plot(result, target)


def plot(result, target):
    """Draw each figure over the number stored; the same result gives the same file."""
    import matplotlib as mpl  # noqa: PLC0415 — takes a second, and most runs need none
    from matplotlib import pyplot as plt  # noqa: PLC0415 — as above

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "blocksieve", "svg.fonttype": "none", "font.size": 9})
    rows = [row for row in result["rows"] if "note" not in row]
    figure, panels = plt.subplots(2, 2, figsize=(10, 7), sharex=True)
    for panel, (title, names) in zip(panels.flat, _PANELS.items(), strict=True):
        for number, index in enumerate(dict.fromkeys(row["index"] for row in rows)):
            own = [row for row in rows if row["index"] == index]
            for name, style in zip(names, ("-", "--"), strict=False):
                label = index if name == names[0] else None
                draw(panel, own, name, {"color": f"C{number}", "linestyle": style, "label": label})
        panel.set(title=title, xscale="log", yscale="log")
        panel.grid(alpha=0.3)
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="lower center", ncols=4)
    figure.supxlabel("fingerprints stored (hollow: filled sorted)", y=0.06)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(target, format="svg", metadata={"Date": None})
    plt.close(figure)


def draw(panel, rows, name, style):
    panel.plot([row["size"] for row in rows], [row[name] for row in rows], **style)
    for row in rows:
        panel.plot(row["size"], row[name], "o", color=style["color"], mfc="white" if row["sorted"] else style["color"])


def _described(result):
    return ", ".join(f"{name} {number or 'not there'}" for name, number in result["versions"].items())


def _installed(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _server_version():
    try:
        with connect() as server:
            return server.execute("SHOW server_version").fetchone()[0].split()[0]
    except psycopg.OperationalError:
        return None
