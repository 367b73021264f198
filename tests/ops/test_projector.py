"""The digests that the projector's process writes to its log."""

import threading

from structlog.testing import capture_logs

from ops.projector import note
from projections import anchors
from projections.anchors import Anchor
from projections.check.books import check
from tests.projections.story import Room, write


def noted(lines: list[str]) -> list[Anchor]:
    return [anchor for line in lines for anchor in anchors.parse(line)]


def test_each_digest_is_logged_once_and_holds_against_the_book(dsn: str) -> None:
    stop, room = threading.Event(), Room()
    with capture_logs() as entries:
        thread = threading.Thread(target=note, args=(dsn, stop, 0.01))
        thread.start()
        last = write(dsn, room.day(hands=4))
        stop.set()
        thread.join(10)
    found = noted([entry["anchor"] for entry in entries if entry["event"] == "anchor"])
    assert found[-1].number == last  # what came last is logged at the end, whatever the clock says
    assert len(set(found)) == len(found)
    report = check(dsn, against=found)
    assert report.clean
    assert report.anchors == len(found)


def test_a_database_that_does_not_answer_is_told_and_tried_again() -> None:
    stop = threading.Event()
    with capture_logs() as entries:
        thread = threading.Thread(target=note, args=("host=127.0.0.1 port=1", stop, 0.01))
        thread.start()
        while len(entries) < 2:
            stop.wait(0.01)
        stop.set()
        thread.join(10)
    assert {entry["event"] for entry in entries} == {"anchor-not-read"}
