"""Money: integer minor units of a named currency, never a float and never a Decimal."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

MAX_MINOR: Final = 2**53
"""Largest amount that one command may name, in minor units (safe in every JSON reader)."""

PLAY_MONEY: Final = "XPM"
"""Fun money, two digits: no value and no rake. Source: K 10.1.8-9."""

CREDITS: Final = "XCR"
"""Virtual credits of a credits room, whole units. Source: G."""

CHIPS: Final = "XTC"
"""Tournament chips, whole units; worth nothing outside their tournament. Source: K 11."""

_TWO_DIGITS = (
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD "
    "CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD "
    "GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD "
    "MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP "
    "PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS "
    "TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG"
)
_NO_DIGITS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
_THREE_DIGITS = "BHD IQD JOD KWD LYD OMR TND"

DIGITS: Final[dict[str, int]] = {
    **dict.fromkeys(_TWO_DIGITS.split(), 2),
    **dict.fromkeys(_NO_DIGITS.split(), 0),
    **dict.fromkeys(_THREE_DIGITS.split(), 3),
    PLAY_MONEY: 2,
    CREDITS: 0,
    CHIPS: 0,
}
"""Digits after the decimal point of every currency that can be booked. Source: ISO 4217."""


def is_real(currency: str) -> bool:
    """Tell whether the currency is money that is owed to somebody (not play money or credits)."""
    return currency not in (PLAY_MONEY, CREDITS, CHIPS)


@lru_cache(maxsize=1 << 16)
def text(amount_minor: int, currency: str) -> str:
    """Write minor units as a decimal string: 1140 EUR -> "11.40"."""
    digits = DIGITS[currency]
    if digits == 0:
        return str(amount_minor)
    sign = "-" if amount_minor < 0 else ""
    whole, part = divmod(abs(amount_minor), 10**digits)
    return f"{sign}{whole}.{part:0{digits}d}"


def minor(amount: str, currency: str) -> int:
    """Read a decimal string as minor units: "11.4" EUR -> 1140.

    Raises ValueError for anything but digits with an optional sign and point,
    and for more digits than the currency has.
    """
    digits = DIGITS[currency]
    sign, unsigned = (-1, amount[1:]) if amount.startswith("-") else (1, amount)
    whole, point, part = unsigned.partition(".")
    if not (whole.isascii() and whole.isdigit()) or (point and not part):
        raise ValueError(f"{amount!r} is not an amount")
    if part and not (part.isascii() and part.isdigit()):
        raise ValueError(f"{amount!r} is not an amount")
    if len(whole) > 20 or len(part.rstrip("0")) > digits:
        raise ValueError(f"{amount!r} has more digits than {currency} has")
    scale: int = 10**digits
    return sign * (int(whole) * scale + int(part[:digits].ljust(digits, "0") or 0))


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Divide an amount in proportion to weights, exactly: largest remainder first.

    Equal remainders go to the earlier weight; the shares always add up to the total.
    """
    whole = sum(weights)
    if whole <= 0:
        raise ValueError("nothing to divide by")
    shares = [total * weight // whole for weight in weights]
    left = total - sum(shares)
    if left:
        by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
        for i in by_remainder[:left]:
            shares[i] += 1
    return shares
