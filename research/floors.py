"""Floors under the mean F1 of each method on a pinned sample of the development data, in research/floors.json.

Raising a floor is free; lowering one has to be asked for.
"""

from __future__ import annotations

import json
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import corpus
from evaluation import Equipment, Evaluation

from cleaning import METHODS

PATH = Path(__file__).with_name("floors.json")
PINNED = {"fundus-dev": 24, "wcxb-dev": 50}
RENDERED = {"fundus-dev": 6, "wcxb-dev": 9}  # a browser takes a second a page
_SHARE_RENDERED = 0.8  # of the mean: another browser, or another font, moves boxes
_STEPS = 200  # floors are multiples of .005


def pinned(name):
    """Return the pinned pages of a data set."""
    return corpus.pin(corpus.read_samples(name), PINNED[name])


def digest(name):
    """Return the hash of what the floors of a data set depend on: the pinned pages and the others of their hosts."""
    return corpus.digest(corpus.same_hosts(corpus.read_samples(name), pinned(name)))


def measure(methods):
    """Return the mean F1 by method and data set, for methods that need no browser; the sets run side by side."""
    if not methods:
        return {}
    spawn = multiprocessing.get_context("spawn")  # forking is not safe where threads run
    first, *others = PINNED
    with ProcessPoolExecutor(len(others), mp_context=spawn) as pool:
        jobs = {name: pool.submit(_means, name, list(methods)) for name in others}
        return _by_method({first: _means(first, methods)} | {name: job.result() for name, job in jobs.items()})


def measure_rendered(methods, browser):
    """Return the same for methods that need a browser, on fewer pages."""
    if not methods:
        return {}
    return _by_method({name: _means(name, methods, browser, count) for name, count in RENDERED.items()})


def _means(name, methods, browser=None, count=None):
    results = Evaluation(name, methods, pinned(name)[:count], Equipment(browser)).run()
    return {method: measured.whole["f1"] for method, measured in results.items()}


def _by_method(by_set):
    methods = next(iter(by_set.values()))
    return {method: {name: means[method] for name, means in by_set.items()} for method in methods}


def read(path):
    """Return what the file holds; nothing where there is none."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {"data": {}, "floors": {}}


def raised(old, means, lower=()):
    """Return the floors under these means: those of other methods stay.

    Raises ValueError, naming both figures, where a floor would sink and its method is not among those to be lowered.
    """
    new = dict(old)
    for method, by_set in means.items():
        new[method] = {name: _under(method, mean) for name, mean in by_set.items()}
        for name, floor in old.get(method, {}).items():
            if new[method].get(name, 0.0) < floor and method not in lower:
                raise ValueError(
                    f"{method}: the floor on {name} is {floor} and would sink to {new[method].get(name)}; "
                    f"if that is meant, say --lower {method}"
                )
    return {method: new[method] for method in METHODS if method in new}


def write(path, means, digests, lower=()):
    """Write the floors under these means; raises ValueError and writes nothing where one would sink unasked."""
    floors = raised(read(path)["floors"], means, lower)
    data = {name: {"pages": PINNED[name], "rendered": RENDERED[name], "digest": digests[name]} for name in PINNED}
    path.write_text(json.dumps({"data": data, "floors": floors}, indent=2) + "\n", "utf-8")


def _under(method, mean):
    share = _SHARE_RENDERED if METHODS[method].needs == "layout" else 1.0
    return math.floor(round(share * mean * _STEPS, 6)) / _STEPS
