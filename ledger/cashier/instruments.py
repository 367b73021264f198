"""What a payment instrument may be called in the book: the provider's token, never its number."""

from typing import Final

from ledger.bounds import InvalidField, text

_CARD_DIGITS: Final = range(12, 20)


def token(instrument: str) -> str:
    """Return the token of a card or account.

    Raises InvalidField for what could be a card number: events stay for ever.
    """
    text(instrument, "instrument", longest=128)
    digits = instrument.replace(" ", "").replace("-", "")
    if digits.isascii() and digits.isdigit() and len(digits) in _CARD_DIGITS and _luhn(digits):
        raise InvalidField("A token, not a card number.", field="instrument")
    return instrument


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0
