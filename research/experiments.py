"""The papers' experiments: each prints the paper's table beside ours, and what became of its claims.

    python research/experiments.py list
    python research/experiments.py pab-blocks [--pages 50] [--json] [--plot FOLDER]
    python research/experiments.py all --write docs/methods.md

Verdicts are computed from the figures, by the rules of research/experiments/verdicts.py. --write counts them
in the page, for `all` alone. The papers' own pages are not to be had: the development data stands in for them, and is
found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout). An experiment is left out where its part of
the data is missing, or the Chromium that `vce` needs, which gives the exit code 1.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

# The parts of this program find each other there, and the example that reads WebKB.
sys.path += [
    str(Path(__file__).with_name("experiments")),
    str(Path(__file__).parents[1] / "docs" / "examples" / "mining"),
]

import corpus
import present
import report

from crawler.errors import RenderError

# The modules are imported when they run: some need libraries of the extras, which `list` does without.
EXPERIMENTS = {
    "pab-blocks": "pab_blocks",
    "pab-size": "pab_size",
    "pab-classes": "pab_classes",
    "pab-titles": "pab_titles",
    "pab-search": "pab_search",
    "weighted-1": "weighted_1",
    "weighted-2": "weighted_2",
    "weighted-3": "weighted_3",
    "subtree": "subtree_levels",
    "vce": "vce_blocks",
}
LIST, ALL = "list", "all"


def main():
    """Run what was asked for; return the exit code, 1 where an experiment could not be run."""
    options = arguments()
    if options.name == LIST:
        for name, module in EXPERIMENTS.items():
            source = Path(__file__).with_name("experiments") / f"{module}.py"
            print(f"{name:<14}{ast.get_docstring(ast.parse(source.read_text('utf-8'))).splitlines()[0]}")
        return 0
    names = list(EXPERIMENTS) if options.name == ALL else [options.name]
    findings = {name: finding for name in names if (finding := run(name, options)) is not None}
    if options.json:
        print(json.dumps({name: asdict(finding) for name, finding in findings.items()}, indent=2))
    if options.write and len(findings) == len(names):
        report.put(options.write, "experiments.py", present.summary(findings))
    return int(len(findings) < len(names))


def run(name, options):
    """Run an experiment, and show and plot what it finds; None where its data or browser is missing."""
    print(f"{name} ...", file=sys.stderr)
    try:
        finding = import_module(EXPERIMENTS[name]).run(options.pages)
    except ModuleNotFoundError as error:
        sys.exit(f"{name} needs {error.name}: pip install 'blocksieve[bench,mining,train]'")
    except (RenderError, FileNotFoundError) as error:
        print(f"{name} was not run: {error}", file=sys.stderr)
        return None
    if not options.json:
        present.show(name, finding)
    if options.plot:
        options.plot.mkdir(parents=True, exist_ok=True)
        present.draw(options.plot / f"{name}.svg", finding)
    return finding


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "name", choices=[LIST, ALL, *EXPERIMENTS], metavar="NAME", help="an experiment, `list` or `all`"
    )
    parser.add_argument("--pages", type=int, help="at most so many pages, for a quick run")
    parser.add_argument("--json", action="store_true", help="print the findings for programs")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write a plot of each there")
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="with `all`: count the verdicts in this page")
    options = parser.parse_args()
    if options.name != LIST and not corpus.DATA.exists():
        parser.error(f"there is no data at {corpus.DATA}; set BLOCKSIEVE_DATA")
    if options.pages is not None and options.pages < 1:
        parser.error(f"--pages is {options.pages}; it is 1 at least")
    if options.write and options.name != ALL:
        parser.error("--write: only all experiments are written")
    return options


if __name__ == "__main__":
    sys.exit(main())
