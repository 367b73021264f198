"""Adopting a version of a rulebook."""

from datetime import date
from typing import ClassVar

from ledger.core import Book, Command, Decision, Kind, Refused
from ledger.rulebooks.events import AdoptedVersion, RulebookAdopted, RulebookState, rulebook_stream
from ledger.rulebooks.loader import RulebookError, parse, sha256_of
from ledger.rulebooks.schema import Rulebook


class InvalidRulebook(Refused):
    """The text is no usable rulebook; ``extra`` names file and key."""

    code: ClassVar[str] = "invalid-rulebook"
    kind: ClassVar[Kind] = "invalid"


class DifferentRulebook(Refused):
    """Another text has been adopted under this date and revision."""

    code: ClassVar[str] = "different-rulebook"
    kind: ClassVar[Kind] = "conflict"


class RevisionGap(Refused):
    """The revision does not follow the last one of its date."""

    code: ClassVar[str] = "revision-gap"
    kind: ClassVar[Kind] = "conflict"


class AdoptRulebook(Command, frozen=True, kw_only=True):
    """Let a version of a rulebook apply from its date on.

    The text names itself: name, date and revision are read from it. Adopting a text that is
    adopted already changes nothing and says so. Another text under the same date must say that
    it is the next revision, because events name the version that judged them.
    Refused: InvalidRulebook, DifferentRulebook, RevisionGap.
    """

    text: str
    file: str

    def decide(self, book: Book) -> Decision:
        try:
            rulebook = parse(self.text, self.file)
        except RulebookError as error:
            raise InvalidRulebook(
                str(error), field="text", file=error.file, key=error.key
            ) from error
        stream_id = rulebook_stream(self.network, rulebook.name)
        digest = sha256_of(self.text)
        answer = {"rulebook": rulebook.ref, "sha256": digest}
        same_date = _of_date(book.get(stream_id), rulebook.valid_from)
        if any(version.sha256 == digest for version in same_date):
            return Decision(answer={**answer, "already_adopted": True})
        _check_revision(rulebook, [version.revision for version in same_date])
        event = RulebookAdopted(
            occurred_at=self.at,
            actor=self.actor,
            request_id=self.request_id,
            rulebook=rulebook.ref,
            name=rulebook.name,
            valid_from=rulebook.valid_from,
            revision=rulebook.revision,
            file=self.file,
            text=self.text,
            sha256=digest,
        )
        return Decision([(stream_id, event)], {**answer, "already_adopted": False})


def _of_date(state: RulebookState | None, valid_from: date) -> list[AdoptedVersion]:
    versions = state.versions if state else ()
    return [version for version in versions if version.valid_from == valid_from]


def _check_revision(rulebook: Rulebook, adopted: list[int]) -> None:
    following = len(adopted) + 1
    if rulebook.revision in adopted:
        raise DifferentRulebook(
            f"{rulebook.ref} has been adopted with another text; "
            f"a correction is revision {following}",
            field="text",
        )
    if rulebook.revision != following:
        raise RevisionGap(
            f"the next revision of {rulebook.valid_from} is {following}, not {rulebook.revision}",
            field="text",
        )
