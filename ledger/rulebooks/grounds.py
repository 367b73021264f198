"""On which grounds an intervention may rest."""

from ledger.bounds import InvalidField, slug
from ledger.rulebooks.schema import Rulebook


def known_ground(rulebook: Rulebook, ground: str) -> str:
    """Return a ground, breach or fraud that the rulebook lists, if it lists any.

    Raises InvalidField. Source: K 3.12, K 9.
    """
    rules = rulebook.interventions
    if rules == "none":
        return slug(ground, "ground")
    grounds = sorted({*rules.grounds, *rules.breaches, *rules.frauds})
    if ground not in grounds:
        raise InvalidField("Not a ground of the rulebook.", field="ground", grounds=grounds)
    return ground
