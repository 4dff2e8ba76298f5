"""The model that the package ships, and its hash: a file with another hash is refused."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from cleaning.classifier.model import Model, hash_of

SHIPPED_MODEL = Path(__file__).parents[1] / "data" / "default.npz"
SHIPPED_MODEL_SHA256 = "90020f29ddd4e4a1fe5e3d8385d060ba68bd8f17c5e728d8d0d8cde28c135848"


@cache
def load_shipped_model() -> Model:
    """Return the model of the package, read once. Raises ModelError like `Model.load`."""
    return Model.load(SHIPPED_MODEL, SHIPPED_MODEL_SHA256)


def pin_shipped_model() -> None:
    """Write the hash of a newly trained SHIPPED_MODEL into this file."""
    source = Path(__file__)
    line = f'SHIPPED_MODEL_SHA256 = "{hash_of(SHIPPED_MODEL.read_bytes())}"'
    source.write_text(re.sub(r'(?m)^SHIPPED_MODEL_SHA256 = ".*"$', line, source.read_text("utf-8")), "utf-8")
