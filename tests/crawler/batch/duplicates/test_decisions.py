"""The decisions about duplicates are those of a crawl, which compares one block after the other."""

import random

import numpy as np
import pytest

from crawler.batch.duplicates.decisions import (
    KEY,
    Decisions,
    edges_of,
    find_leaders,
    find_sightings,
    group_by_terms,
)
from crawler.batch.duplicates.near import near_pairs

BITS = (1 << 64) - 1


def one_after_the_other(keys, distance):
    """Compare each block with all originals before it; return the sightings by id."""
    originals, sightings = [], {}
    for key in sorted(keys, key=lambda key: key["id"]):
        options = [
            (min(bits), int(original["id"]), original)
            for original in originals
            if (bits := distances(key, original, distance))
        ]
        if not options:
            originals.append(key)
            continue
        bits, original_id, nearest = min(options, key=lambda option: option[:2])
        sightings[int(key["id"])] = (original_id, bits, bool(same_terms(key, nearest)))
    return sightings


def distances(key, other, distance):
    bits_of_matches = []
    if key["has"] and other["has"]:
        bits = ((int(key["fingerprint"]) ^ int(other["fingerprint"])) & BITS).bit_count()
        bits_of_matches += [bits] if bits <= distance else []
    if same_terms(key, other):
        bits_of_matches.append(0)
    return bits_of_matches


def same_terms(key, other):
    return key["digest"] == other["digest"] and key["check"] == other["check"]


def in_groups(keys, distance):
    grouped = group_by_terms(keys)
    leaders = find_leaders(grouped.members)
    pairs = near_pairs(np.ascontiguousarray(leaders["fingerprint"]).view(np.uint64), distance)
    decisions = Decisions(edges_of(leaders, pairs.first, pairs.second, pairs.bits))
    decisions.decide()
    rows = np.concatenate((grouped.sightings, find_sightings(grouped.members, leaders, decisions)))
    return {int(row["id"]): (int(row["original"]), int(row["bits"]), bool(row["exact"])) for row in rows}


def make_keys(seed):
    """Return the keys of a few blocks with few different texts, in any order."""
    chance = random.Random(seed)
    count = chance.randint(0, 60)
    keys, texts = np.zeros(count, KEY), {}
    starts = [chance.getrandbits(64) for _ in range(3)]
    for number in range(count):
        text = chance.randint(0, 25)
        if text not in texts:
            fingerprint = chance.choice(starts)
            for _ in range(chance.randint(0, 4)):
                fingerprint ^= 1 << chance.randint(0, 5)
            signed = fingerprint - (1 << 64) if fingerprint >> 63 else fingerprint
            texts[text] = (chance.getrandbits(62), chance.getrandbits(62), signed)
        digest, check, fingerprint = texts[text]
        is_heading = chance.random() < 0.3
        keys[number] = (number, digest, check, 0 if is_heading else fingerprint, not is_heading)
    order = list(range(count))
    chance.shuffle(order)
    return keys[order]


@pytest.mark.parametrize("distance", [0, 1, 3])
def test_sightings_are_those_of_a_crawl(distance):
    for seed in range(150):
        keys = make_keys(seed)
        assert in_groups(keys, distance) == one_after_the_other(keys, distance), f"seed {seed}"


def test_a_sighting_is_no_original():
    """The third text is near the second only, which is a sighting of the first: the third is a block."""
    keys = np.zeros(3, KEY)
    for number, fingerprint in enumerate((0, 0b111, 0b111111)):
        keys[number] = (number, number, number, fingerprint, True)
    assert in_groups(keys, 3) == {1: (0, 3, False)}


def test_equal_digests_of_other_terms_are_not_equal_texts():
    keys = np.zeros(2, KEY)
    keys[0], keys[1] = (0, 7, 1, 0, False), (1, 7, 2, 0, False)
    assert in_groups(keys, 3) == {}
