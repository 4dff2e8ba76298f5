"""E-mail addresses, telephone and card numbers are masked, and what looks like them is not."""

import pytest
from cpu_time import bounded_cpu_time

from crawler.batch.masking import MASKS, Mask
from crawler.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Write to ann.o'neil+news@mail.example.co.uk.", "Write to <email>."),
        ("<bob@example.org>, Ünal@exämple.de", "<<email>>, <email>"),
        ("Card 4111 1111 1111 1111, or 5500-0000-0000-0004; 340000000000009", "Card <card>, or <card>; <card>"),
        ("Call +44 20 7946 0018 or +1 (212) 555-0187.", "Call <phone> or <phone>."),
    ],
)
def test_what_identifies_a_person_is_masked(text, masked):
    assert Mask(MASKS).apply(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "@home, a@b, user@localhost, ann@ example.org",
        "ISBN 978-3-16-148410-0, 4111 1111 1111 1112, 12345678901234567890123",
        "on 2024-05-03 at 10:22:33, 12 345 678 901 people, version 4.1111.1111",
        "1914-1918, 10.1000/182, 192.168.100.200, 1,234,567.89",
    ],
)
def test_other_numbers_and_signs_stay(text):
    assert Mask(MASKS).apply(text) == text


def test_a_region_tells_numbers_without_a_country_code():
    assert Mask(("phone",)).apply("Call 020 7946 0018") == "Call 020 7946 0018"
    assert Mask(("phone",), "GB").apply("Call 020 7946 0018") == "Call <phone>"


def test_only_what_is_asked_for_is_masked_and_counted():
    mask = Mask(("email",))
    assert mask.apply("ann@example.org, bob@example.org, +44 20 7946 0018") == "<email>, <email>, +44 20 7946 0018"
    assert mask.counts == {"email": 2}


def test_an_unknown_region_is_refused():
    with pytest.raises(ConfigError, match="the region 'XX' is unknown"):
        Mask(("phone",), "XX")


def test_texts_made_for_it_take_little_time():
    texts = ("a" * 200_000 + "@", "@" * 200_000, "a@" + "b." * 100_000, "4 " * 100_000)
    with bounded_cpu_time():
        for text in texts:
            assert Mask(("email", "card")).apply(text)
