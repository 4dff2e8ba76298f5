"""The model that the package ships, and its hash: a model that someone has exchanged is not used."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from cleaning.classifier.model import Model, hash_of

SHIPPED_MODEL = Path(__file__).parents[1] / "data" / "default.npz"
SHIPPED_MODEL_SHA256 = "9e57e0b6364e5dddba993e224af620e9d451b8b6d0ca0436b27b050d3e07a173"


@cache
def load_shipped_model() -> Model:
    """Return the model of the package, read once. Raises ModelError like `Model.load`."""
    return Model.load(SHIPPED_MODEL, SHIPPED_MODEL_SHA256)


def pin_shipped_model() -> None:
    """Write the hash of a newly trained SHIPPED_MODEL into this file."""
    source = Path(__file__)
    line = f'SHIPPED_MODEL_SHA256 = "{hash_of(SHIPPED_MODEL.read_bytes())}"'
    source.write_text(re.sub(r'(?m)^SHIPPED_MODEL_SHA256 = ".*"$', line, source.read_text("utf-8")), "utf-8")
