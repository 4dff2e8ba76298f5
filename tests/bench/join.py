"""The join of `scrapy batch --near-duplicates` on made-up blocks: time, memory and bytes; and whether it is exact.

A fifth of the fingerprints is another one with one to five bits changed, a fifth has the same lowest band, a tenth of
the blocks repeats another one with its terms, and one in twenty is a heading. The blocks begin as keys, as cleaning
leaves them, and end as sightings. Up to --check blocks, the sightings are compared with those that a loop finds, which
compares each block with all originals before it.

`candidates` is the number of pairs with an equal band, the mean of four bands; `compared` the pairs whose bits were
counted, in all bands. For larger sizes one value of one band is made with as many fingerprints as it would have, and
compared: times 2^16 values and four bands, that is the work of the whole (`--project`).

    python tests/bench/join.py [--sizes 100000,1000000] [--workers 2] [--blocks-per-task N] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from process_tree import Watch
from rich.console import Console
from rich.table import Table

from crawler.batch.clean_file import ID_BITS
from crawler.batch.duplicates.decisions import BLOCKS_PER_TASK, KEY
from crawler.batch.duplicates.near import BAND_BITS, BANDS, near_pairs_of_band
from crawler.batch.duplicates.pages import PAGE_PREFIX
from crawler.batch.duplicates.plan import Plan
from crawler.batch.duplicates.stages import read_sightings
from crawler.batch.engine import LocalEngine, RayEngine
from crawler.batch.job import BatchOptions, _Job, _Stages
from crawler.batch.output import OutputFolder, spread, write_partitions

DISTANCE = 3
BAND = np.uint64((1 << BAND_BITS) - 1)


def make_keys(count, rows_of_a_file):
    """Return the keys of so many blocks in their order, as if each input file had `rows_of_a_file`."""
    random = np.random.default_rng(count)
    keys = np.zeros(count, KEY)
    number = np.arange(count)
    keys["id"] = (number // rows_of_a_file << ID_BITS) + number % rows_of_a_file
    keys["digest"], keys["check"] = random.integers(-(2**63), 2**63, (2, count))
    fingerprints = random.integers(0, 2**64, count, dtype=np.uint64)
    fingerprints[random.random(count) < 0.2] &= ~BAND
    near = np.flatnonzero(random.random(count) < 0.2)
    fingerprints[near] = fingerprints[random.integers(0, count, len(near))]
    for changed in range(5):
        bits = np.uint64(1) << random.integers(0, 64, len(near)).astype(np.uint64)
        fingerprints[near] ^= np.where(random.random(len(near)) < 1 / (1 + changed), bits, np.uint64(0))
    keys["fingerprint"] = fingerprints.view(np.int64)
    repeated = np.flatnonzero(random.random(count) < 0.1)
    source = random.integers(0, count, len(repeated))
    for name in ("digest", "check", "fingerprint"):
        keys[name][repeated] = keys[name][source]
    keys["has"] = random.random(count) >= 0.05
    keys["fingerprint"][~keys["has"]] = 0
    return keys


def join(keys, folder, workers, rows_of_a_task, *, prefix="", engine="local"):
    """Run the stages of the join in processes; return the sightings and what they took.

    `prefix` is that of the stages of pages, for keys of pages.
    """
    output = OutputFolder(str(folder))
    files = -(-len(keys) // rows_of_a_task)
    plan = Plan(tuple(range(files + 1)), DISTANCE, prefix)
    for number in range(files):
        rows = keys[number * rows_of_a_task : (number + 1) * rows_of_a_task]
        write_partitions(output, plan.file("keys", number), rows, spread([rows["digest"]], files), files)
    settings = {"DEDUP_SCOPE": "all", "DEDUP_DISTANCE": DISTANCE}
    options = BatchOptions([], str(folder), settings, near_duplicates=True, blocks_per_task=rows_of_a_task)
    processes = RayEngine(output, workers, None) if engine == "ray" else LocalEngine(output, workers)
    try:
        with Watch() as watch:
            counts = _Stages(_Job(output, [], datetime.now(UTC)), options, processes, lambda _progress: None).join(plan)
    finally:
        processes.close()
    sightings = np.concatenate([read_sightings(output, plan, number) for number in range(files)])
    return sightings, {
        "blocks": len(keys),
        "leaders": counts[f"{prefix}leaders"],
        "sightings": len(sightings),
        "near_pairs": counts[f"{prefix}near_pairs"],
        "candidates": candidates(folder / "work" / f"{prefix}band-counts"),
        "compared": counts[f"{prefix}compared_pairs"],
        "heavy_bands": counts[f"{prefix}heavy_bands"],
        "rounds": len(list((folder / "work").glob(f"{prefix}round-*"))),
        "written_mb": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6,
        "partitions": files,
    } | asdict(watch.taken)


def candidates(folder):
    """Return the number of pairs with an equal band, the mean of the bands."""
    counts = sum(np.fromfile(path, "<i8") for path in sorted(folder.iterdir()))
    return int((counts * (counts - 1) // 2).sum()) // BANDS


def by_brute_force(keys):
    """Return original, distance and exactness of each sighting: each block is compared with all originals before it."""
    originals = np.zeros(len(keys), np.uint64)
    ids = np.zeros(len(keys), np.int64)
    held = 0
    by_terms, terms_of, sightings = {}, {}, {}
    for key, fingerprint in zip(keys.tolist(), keys["fingerprint"].view(np.uint64), strict=True):
        number, digest, check, _, has = key
        options = []
        if has and held:
            bits = np.bitwise_count(originals[:held] ^ fingerprint)
            best = int(bits.argmin())  # the first of the nearest
            options += [(int(bits[best]), int(ids[best]))] if bits[best] <= DISTANCE else []
        options += [(0, earlier) for earlier in by_terms.get((digest, check), [])[:1]]
        if options:
            distance, original = min(options)
            sightings[number] = (original, distance, terms_of[original] == (digest, check))
            continue
        terms_of[number] = digest, check
        by_terms.setdefault((digest, check), []).append(number)
        if has:
            originals[held], ids[held] = fingerprint, number
            held += 1
    return sightings


def differences(keys, sightings):
    """Return how many blocks the join decides otherwise than the loop."""
    names = ("id", "original", "bits", "exact")
    joined = {row[0]: row[1:] for row in zip(*(sightings[name].tolist() for name in names), strict=True)}
    expected = by_brute_force(keys)
    return sum(joined.get(number) != expected.get(number) for number in joined.keys() | expected.keys())


def project(size):
    """Return the work of comparing so many fingerprints, from that of one value of one band."""
    random = np.random.default_rng(size)
    held = size >> BAND_BITS
    fingerprints = np.unique(random.integers(0, 2**64, held, dtype=np.uint64) & ~BAND)
    began = time.process_time()
    pairs = near_pairs_of_band(fingerprints, 0, DISTANCE)
    values = BANDS << BAND_BITS
    return {
        "fingerprints": size,
        "candidates": held * (held - 1) // 2 << BAND_BITS,
        "compared": pairs.compared * values,
        "cpu_hours": (time.process_time() - began) * values / 3600,
    }


def show(sizes, projected):
    for title, rows in (("the join", sizes), ("by one value of a band", projected)):
        if rows:
            table = Table(title, *(f"{next(iter(row.values())):,}" for row in rows))
            for name in list(rows[0])[1:]:
                table.add_row(name.replace("_", " "), *(_shown(row[name]) for row in rows if name in row))
            Console(width=140).print(table)


def _shown(value):
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:.2e}" if value >= 10**9 else f"{value:,}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100000,1000000", help="numbers of blocks (default: 100000,1000000)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--blocks-per-task", type=int, default=BLOCKS_PER_TASK)
    parser.add_argument("--engine", choices=["local", "ray"], default="local")
    parser.add_argument("--pages", action="store_true", help="run the stages of pages: a heading has no fingerprint")
    parser.add_argument("--check", type=int, default=100_000, help="compare with brute force up to so many blocks")
    parser.add_argument("--project", default="", help="larger numbers of fingerprints, of which one band is compared")
    parser.add_argument("--folder", help="where the files of the join lie for a while")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    figures_by_size, wrong = [], 0
    for size in map(int, options.sizes.split(",")):
        keys = make_keys(size, options.blocks_per_task)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            sightings, figures = join(
                keys,
                Path(folder),
                options.workers,
                options.blocks_per_task,
                prefix=PAGE_PREFIX if options.pages else "",
                engine=options.engine,
            )
        if size <= options.check:
            figures["differences"] = differences(keys, sightings)
            wrong += figures["differences"]
        figures_by_size.append(
            {name: round(value, 2) if isinstance(value, float) else value for name, value in figures.items()}
        )
        print(figures_by_size[-1], file=sys.stderr)
    projected = [project(int(size)) for size in options.project.split(",") if size]
    if options.json:
        print(json.dumps({"join": figures_by_size, "projected": projected}, indent=2))
    else:
        show(figures_by_size, projected)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
