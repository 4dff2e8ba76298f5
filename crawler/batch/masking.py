"""Masks what identifies a person in texts: e-mail addresses, telephone numbers and numbers of payment cards.

    mask = Mask(("email", "card"))
    mask.apply("Write to ann@example.org")    # "Write to <email>"
    mask.counts                               # Counter({"email": 1})

Names and postal addresses are not recognised.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawler.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

MASKS = ("email", "phone", "card")
"""What can be masked."""

_EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}")
# Thirteen to nineteen digits, in groups or not. The first digit of a payment card is 2 to 6.
_CARD = re.compile(r"(?<![\d.,-])[2-6](?:[ -]?[0-9]){12,18}(?![\d-])", re.ASCII)
_PHONE_DIGITS = re.compile(r"(?:\d\D{0,3}){7}")
_NINE = 9


@dataclass(slots=True)
class Mask:
    """Replaces what is found by `<email>`, `<phone>` or `<card>`, and counts it.

    A telephone number without a country code is found only if `region` names a country, such as `GB`. Raises
    ConfigError if the package phonenumbers is missing, or does not know the region.
    """

    kinds: tuple[str, ...] = ()
    region: str | None = None
    counts: Counter[str] = field(default_factory=Counter)
    _phones: Any = None

    def __post_init__(self) -> None:
        if "phone" not in self.kinds:
            return
        try:
            import phonenumbers  # noqa: PLC0415 — an extra
        except ImportError as error:
            raise ConfigError(
                f"masking telephone numbers needs phonenumbers: pip install 'blocksieve[batch]' ({error})"
            ) from error
        if self.region is not None and self.region not in phonenumbers.SUPPORTED_REGIONS:
            raise ConfigError(f"the region {self.region!r} is unknown; use the code of a country, such as GB")
        self._phones = phonenumbers

    def apply(self, text: str) -> str:
        """Return a text with what it masks replaced."""
        # A card first: a part of its number may look like a telephone number.
        if "email" in self.kinds and "@" in text:
            text = self._replace(text, "email", ((match.start(), match.end()) for match in _EMAIL.finditer(text)))
        if "card" in self.kinds:
            text = self._replace(text, "card", _cards(text))
        if self._phones is not None and _PHONE_DIGITS.search(text):
            matches = self._phones.PhoneNumberMatcher(text, self.region)
            text = self._replace(text, "phone", ((match.start, match.end) for match in matches))
        return text

    def _replace(self, text: str, kind: str, spans: Iterator[tuple[int, int]]) -> str:
        parts, last = [], 0
        for start, end in spans:
            parts += [text[last:start], f"<{kind}>"]
            last = end
            self.counts[kind] += 1
        return "".join((*parts, text[last:]))


def _cards(text: str) -> Iterator[tuple[int, int]]:
    for match in _CARD.finditer(text):
        if _has_check_digit([int(character) for character in match[0] if character.isdigit()]):
            yield match.span()


def _has_check_digit(digits: list[int]) -> bool:
    """Return True if the last digit is that of Luhn's algorithm (ISO/IEC 7812-1)."""
    doubled = [2 * digit for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(digit - _NINE * (digit > _NINE) for digit in doubled)) % 10 == 0
