"""Kept blocks made from plain texts, with the digests and fingerprints that cleaning would give them."""

from cleaning.blocks import Block, Decision, Kind, Reason
from cleaning.fingerprint import fingerprint_terms, text_digest
from cleaning.page_fingerprint import FingerprintedBlock
from cleaning.terms import terms


def make_candidate(position, text, *, kind=Kind.PARAGRAPH, fingerprint=None, repeats=None, digest=None):
    """A kept block; `fingerprint` replaces the real one, which blocks of 20 unique terms and more have."""
    sequence = terms(text)
    unique = len(set(sequence))
    if fingerprint is None and unique >= 20 and kind is not Kind.HEADING:
        fingerprint = fingerprint_terms(sequence)
    block = Block(position, f"/html/body/p[{position + 1}]", kind, text, len(text.split()), 0, 1.0)
    return FingerprintedBlock(
        Decision(block, 0.5, Reason.KEPT),
        text_digest(text, sequence) if digest is None else digest,
        unique,
        fingerprint,
        repeats,
    )
