"""Amounts as JSON numbers, and what they are in a currency's minor units, exactly."""

from ledger.money import MAX_MINOR


class Exact(dict[int, int | None]):
    """A JSON number with a point or an exponent: digits of a currency -> minor units.

    None stands where a currency of so many digits cannot express it.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __missing__(self, digits: int) -> int | None:
        scaled = self[digits] = _scaled(self.text, digits)
        return scaled


def _scaled(text: str, digits: int) -> int | None:
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, part = mantissa.partition(".")
    if len(exponent) > 4 or len(mantissa) > 60:
        return None
    figures = int(whole + part)
    power = int(exponent or 0) - len(part) + digits
    if figures == 0:
        return 0
    if power >= 0:
        scaled, rest = figures * 10 ** min(power, 60), 0
    else:
        scaled, rest = divmod(abs(figures), 10 ** min(-power, 60))
        scaled = scaled if figures > 0 else -scaled
    return None if rest or abs(scaled) > MAX_MINOR else scaled


class Numbers(dict[str, Exact]):
    """Remembers the numbers seen: the same few amounts occur over and over."""

    def __missing__(self, text: str) -> Exact:
        if len(self) >= 50_000:
            self.clear()
        exact = self[text] = Exact(text)
        return exact
