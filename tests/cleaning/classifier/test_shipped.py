"""The model that the package ships."""

from cleaning.classifier.model import hash_of
from cleaning.classifier.shipped import SHIPPED_MODEL, SHIPPED_MODEL_SHA256, load_shipped_model


def test_the_pinned_hash_is_that_of_the_file():
    assert hash_of(SHIPPED_MODEL.read_bytes()) == SHIPPED_MODEL_SHA256


def test_the_model_is_read_once():
    assert load_shipped_model() is load_shipped_model()
