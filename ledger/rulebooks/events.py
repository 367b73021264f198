"""Facts about rulebooks: a version was adopted, with the text that it was read from."""

from datetime import date
from typing import ClassVar, Final

import msgspec

from ledger.core import Event, stream


class RulebookAdopted(Event, frozen=True, kw_only=True):
    """A version of an operator's rules applies from its date on; the text is the evidence.

    ``file`` is where the text came from, ``sha256`` the hash of the text, in hexadecimal.
    """

    NAME: ClassVar[str] = "rulebook.adopted.v1"

    name: str
    valid_from: date
    revision: int
    file: str
    text: str
    sha256: str


EVENTS: Final[tuple[type[Event], ...]] = (RulebookAdopted,)


class AdoptedVersion(msgspec.Struct, frozen=True):
    """One adopted text."""

    valid_from: date
    revision: int
    file: str
    text: str
    sha256: str


class RulebookState(msgspec.Struct, frozen=True):
    """The adopted versions of one rulebook by date, a revision after what it corrects."""

    name: str
    versions: tuple[AdoptedVersion, ...]

    def in_force(self, day: date) -> AdoptedVersion:
        """Return the version of a day: the last one valid by then, else the first."""
        for version in reversed(self.versions):
            if version.valid_from <= day:
                return version
        first = self.versions[0].valid_from
        return [version for version in self.versions if version.valid_from == first][-1]


def evolve(state: RulebookState | None, event: Event) -> RulebookState:
    """Apply a fact to a rulebook's state."""
    assert isinstance(event, RulebookAdopted)
    adopted = AdoptedVersion(event.valid_from, event.revision, event.file, event.text, event.sha256)
    versions = (*(state.versions if state else ()), adopted)
    in_order = sorted(versions, key=lambda version: (version.valid_from, version.revision))
    return RulebookState(event.name, tuple(in_order))


def rulebook_stream(network: str, name: str) -> str:
    """Name the stream of a rulebook."""
    return stream("rulebook", network, name)
