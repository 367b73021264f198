"""Which nicknames may be borne. Source: K 9.1."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from ledger.core import Refused
from ledger.identity import comparable

SHORTEST: Final = 3
LONGEST: Final = 20
_JOINTS: Final = re.compile(r"[ ._-]")
_LOOKALIKES: Final = str.maketrans("013457@$!", "oieastasi")


class NicknameNotAllowed(Refused):
    """The nickname breaks a rule; ``rule`` names it: length, characters, scripts or reserved."""

    code = "nickname-not-allowed"


def check(nickname: str, reserved: Iterable[str]) -> None:
    """Refuse a nickname that is badly formed or resembles a reserved word.

    ``reserved`` has trademarks, company names and offensive words. Raises NicknameNotAllowed.
    """
    if not SHORTEST <= len(nickname) <= LONGEST:
        raise _broken("length", f"A nickname has {SHORTEST} to {LONGEST} characters.")
    if any(not part.isalnum() for part in _JOINTS.split(nickname)):
        raise _broken("characters", "Letters and digits, joined by single ' ', '.', '_' or '-'.")
    scripts = {unicodedata.name(c, "").split()[0] for c in nickname if c.isalpha()}
    if len(scripts) > 1:
        raise _broken("scripts", "All letters of a nickname belong to one script.")
    bare = _bare(nickname)
    if any(word and word in bare for word in map(_bare, reserved)):
        raise _broken("reserved", "The nickname resembles a reserved or offensive word.")


def _bare(name: str) -> str:
    folded = comparable(name).translate(_LOOKALIKES)
    return "".join(c for c in folded if c.isalnum())


def _broken(rule: str, message: str) -> NicknameNotAllowed:
    return NicknameNotAllowed(message, field="nickname", rule=rule)
