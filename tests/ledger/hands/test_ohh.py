"""Reading posted hands: exact amounts, one canonical form, and a stable code for what is wrong."""

import json
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core import Refused
from ledger.hands import ohh, reading, record
from ledger.hands.record import digest_of
from tests.ledger.hands.posts import a_flop, encoded, read

POST = encoded(a_flop())


def changed(path: tuple[Any, ...], value: Any) -> bytes:
    """Put something else at a path of the post; a bytes value is put there as it is."""
    post = deepcopy(a_flop())
    inside: Any = post["ohh"]
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = msgspec.Raw(value) if isinstance(value, bytes) else value
    return encoded(post)


def refusal(body: bytes) -> Refused:
    with pytest.raises(Refused) as refused:
        reading.read(body)
    return refused.value


def outcome(item: ohh.Raw) -> str:
    """Return a hand's number, or the code that it is refused with."""
    try:
        return reading.read(item).game_number
    except Refused as refused:
        return refused.code


AMOUNT = ("rounds", 0, "actions", 0, "amount")


@pytest.mark.parametrize(
    ("number", "minor"),
    [
        (b"1", 100),
        (b"1.0", 100),
        (b"1.00", 100),
        (b"1.000", 100),
        (b"0.07", 7),
        (b"1e0", 100),
        (b"1E2", 10_000),
        (b"12e-1", 120),
        (b"0", 0),
        (b"-0.0", 0),
        (b"0.29", 29),
        (b"1.1e1", 1_100),
        (b"90071992547409.92", 2**53),
    ],
)
def test_an_amount_is_read_as_an_exact_decimal(number: bytes, minor: int) -> None:
    assert reading.read(changed(AMOUNT, number)).rounds[0].actions[0].amount == minor


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (b"0.005", "malformed"),
        (b"1e-3", "malformed"),
        (b"1e999999", "malformed"),
        (b"1e-999999", "malformed"),
        (b"1" + b"0" * 400, "malformed"),
        (b"0." + b"3" * 400, "malformed"),
        (b"90071992547409.93", "malformed"),
        (b'"1.00"', "malformed"),
        (b'"NaN"', "malformed"),
        (b"true", "malformed"),
        (b"[1]", "malformed"),
        (b"-1", "negative-amount"),
        (b"-0.01", "negative-amount"),
        (b"-1e2", "negative-amount"),
    ],
)
def test_an_amount_that_is_none_is_refused_where_it_stands(number: bytes, code: str) -> None:
    refused = refusal(changed(AMOUNT, number))
    assert (refused.code, refused.field) == (code, "rounds[0].actions[0].amount")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (("players", 1, "starting_stack"), "players[1].starting_stack"),
        (("pots", 0, "amount"), "pots[0].amount"),
        (("pots", 0, "rake"), "pots[0].rake"),
        (("pots", 0, "jackpot"), "pots[0].jackpot"),
        (("pots", 0, "player_wins", 0, "win_amount"), "pots[0].player_wins[0].win_amount"),
        (("x_uncalled_returned", 0, "amount"), "x_uncalled_returned[0].amount"),
        (("small_blind_amount",), "small_blind_amount"),
        (("bet_limit", "bet_cap"), "bet_limit.bet_cap"),
        (("x_bring_in",), "x_bring_in"),
    ],
)
def test_every_amount_is_checked(path: tuple[Any, ...], field: str) -> None:
    assert refusal(changed(path, b"0.001")).field == field
    assert refusal(changed(path, b'"5"')).field == field
    assert refusal(changed(path, b"-5")).code == "negative-amount"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"01", b"1.", b".5", b"+1"])
def test_what_is_no_json_number_is_refused(number: bytes) -> None:
    body = POST.replace(b'"amount":1,', b'"amount":' + number + b",", 1)
    assert body != POST
    assert refusal(body).code == "malformed"


def test_only_an_adjustment_of_a_player_may_be_negative() -> None:
    adjustment = {"action": "Player Adjustment", "player_id": 1, "amount": -5}
    body = changed(("rounds", 0, "actions", 0), adjustment)
    assert reading.read(body).rounds[0].actions[0].amount == -500


@pytest.mark.parametrize(
    ("currency", "number", "minor"),
    [("EUR", b"1.5", 150), ("JPY", b"150", 150), ("KWD", b"1.505", 1505), ("XCR", b"2", 2)],
)
def test_an_amount_has_the_digits_of_its_currency(currency: str, number: bytes, minor: int) -> None:
    post = {"ohh": {**a_flop()["ohh"], "currency": currency, "rounds": [], "pots": []}}
    post["ohh"].update(x_uncalled_returned=[], small_blind_amount=msgspec.Raw(number))
    assert read(post).small_blind_amount == minor


@pytest.mark.parametrize("currency", ["JPY", "XCR"])
def test_a_part_of_a_whole_unit_is_refused(currency: str) -> None:
    post = {"ohh": {**a_flop()["ohh"], "currency": currency}}
    post["ohh"]["small_blind_amount"] = msgspec.Raw(b"1.50")
    assert refusal(encoded(post)).field == "small_blind_amount"


def test_tournament_hands_are_in_chips() -> None:
    post = a_flop(tournament=True, currency=None)
    assert refusal(encoded(post)).field == "pots[0].rake"
    post["ohh"]["pots"] = []
    hand = read(post)
    assert (hand.money, hand.players[0].starting_stack) == ("XTC", 100)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("currency",), "EUX", "currency"),
        (("currency",), None, "currency"),
        (("currency",), "XTC", "currency"),
        (("start_date_utc",), "yesterday", "start_date_utc"),
        (("start_date_utc",), "2013-02-30", "start_date_utc"),
        (("start_date_utc",), "0001-01-01T00:00:00+10:00", "start_date_utc"),
        (("players", 0, "seat"), 1.5, "players[0].seat"),
        (("players", 0, "name"), None, "players[0].name"),
        (("players",), [], "players"),
        (("rounds", 0, "street"), "Sixth Avenue", "rounds[0].street"),
        (("rounds", 0, "actions", 0, "action"), "Dances", "rounds[0].actions[0].action"),
        (("rounds", 0, "actions", 0, "is_allin"), 1, "rounds[0].actions[0].is_allin"),
        (("bet_limit", "bet_type"), "XL", "bet_limit.bet_type"),
        (("game_number",), 81, "game_number"),
        (("game_number",), "", "game_number"),
        (("table_name",), "", "table_name"),
    ],
)
def test_a_field_that_is_wrong_is_named(path: tuple[Any, ...], value: Any, field: str) -> None:
    refused = refusal(changed(path, value))
    assert (refused.code, refused.field) == ("malformed", field)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"ohh":{}}',
        b"\xff\xfe",
        POST.replace(b"Etomo", b"Et\xff\xfemo"),
        POST[: len(POST) // 2],
        POST.replace(b"Etomo", b"\\ud800"),
        b'{"ohh":' + b"[" * 200_000,
        POST.replace(b'"spec_version":', b'"x":' + b"[" * 9000 + b"]" * 9000 + b',"y":', 1),
        encoded(a_flop()["ohh"]),
    ],
)
def test_what_is_no_hand_is_malformed(body: bytes) -> None:
    assert refusal(body).code == "malformed"


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2013-06-01", datetime(2013, 6, 1, tzinfo=UTC)),
        ("2013-06-01T12:30:00", datetime(2013, 6, 1, 12, 30, tzinfo=UTC)),
        ("2013-06-01 12:30:00Z", datetime(2013, 6, 1, 12, 30, tzinfo=UTC)),
        ("2013-06-01T12:30:00.250Z", datetime(2013, 6, 1, 12, 30, 0, 250_000, tzinfo=UTC)),
        ("2013-06-01T16:30:00+04:00", datetime(2013, 6, 1, 12, 30, tzinfo=UTC)),
        ("2013-W22-6T12:30:00Z", datetime(2013, 6, 1, 12, 30, tzinfo=UTC)),
    ],
)
def test_a_start_without_a_zone_is_utc_and_other_zones_are_converted(
    text: str, instant: datetime
) -> None:
    hand = reading.read(changed(("start_date_utc",), text))
    assert hand.started_at == instant
    same = reading.read(changed(("start_date_utc",), instant.isoformat()))
    assert hand == same


def test_posts_that_mean_the_same_are_the_same_hand() -> None:
    post = json.loads(POST)["ohh"]
    backwards = dict(reversed(list(post.items())))
    backwards |= {"x_unknown": [1, {"2": 3}], "flags": None, "x_status": "finished"}
    for round_ in backwards["rounds"]:
        round_["cards"] = ""
        for action in round_["actions"]:
            action["cards"] = []
    spaced = json.dumps({"ohh": backwards}, indent=2).replace("100", "100.000").encode()
    assert reading.read(spaced) == reading.read(POST)
    assert digest_of(reading.read(spaced)) == digest_of(reading.read(POST))


def test_of_a_key_that_occurs_twice_the_last_counts() -> None:
    twice = POST.replace(b'"table_name":', b'"table_name":"First","table_name":', 1)
    assert reading.read(twice).table_name == "Etomo"
    assert reading.read(twice) == reading.read(POST)


def test_the_older_name_of_play_money_is_play_money() -> None:
    assert reading.read(changed(("currency",), "PPC")) == reading.read(
        changed(("currency",), "XPM")
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("table_name",), "Ishiwaki"),
        (("players", 1, "name"), "bobby"),
        (("rounds", 0, "actions", 1, "amount"), 3),
        (("pots", 0, "player_wins", 0, "player_id"), 1),
        (("rounds", 1, "cards"), ["As", "Kd", "7h"]),
        (("x_rake_is_for_hand",), False),
    ],
)
def test_posts_that_differ_are_told_apart_and_the_field_is_named(
    path: tuple[Any, ...], value: Any
) -> None:
    one, other = reading.read(POST), reading.read(changed(path, value))
    assert digest_of(one) != digest_of(other)
    [named] = reading.differing_fields(one, other)
    dotted = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    assert named == dotted[1:]


# -- several hands in one body -----------------------------------------------------------------


def pretty(post: Any) -> bytes:
    return json.dumps(json.loads(encoded(post)), indent=1).encode()


ONE, TWO = a_flop(), a_flop(game_number="82")


@pytest.mark.parametrize(
    "body",
    [
        encoded([ONE, TWO]),
        b" [\n" + encoded(ONE) + b",\n" + encoded(TWO) + b"]\n",
        encoded(ONE) + b"\n" + encoded(TWO),
        encoded(ONE) + b"\r\n" + encoded(TWO) + b"\r\n",
        encoded(ONE) + b"\n\n" + encoded(TWO) + b"\n\n",
        pretty(ONE) + b"\n\n" + pretty(TWO),
        b"\xef\xbb\xbf" + encoded(ONE) + b"\n" + encoded(TWO),
    ],
    ids=["array", "array on lines", "lines", "crlf", "blank lines", "printed", "byte order mark"],
)
def test_a_body_may_hold_several_hands(body: bytes) -> None:
    assert [reading.read(item).game_number for item in reading.split(body)] == ["81", "82"]


def test_a_hand_printed_over_several_lines_is_one() -> None:
    assert len(reading.split(pretty(ONE))) == 1


def test_an_empty_body_holds_no_hand() -> None:
    assert reading.split(b"  \n\n ") == []
    assert reading.split(b"[]") == []


@pytest.mark.parametrize("bad", [b'{"ohh": 5}', b"{", b"garbage", b'{"ohh":{"pots":"x"}}'])
def test_one_bad_line_does_not_stop_the_others(bad: bytes) -> None:
    for lines in ([encoded(ONE), bad, encoded(TWO)], [bad, encoded(ONE), encoded(TWO)]):
        outcomes = [outcome(item) for item in reading.split(b"\n".join(lines))]
        assert sorted(outcomes) == ["81", "82", "malformed"]


def test_one_bad_item_of_an_array_does_not_stop_the_others() -> None:
    items = reading.split(b"[" + encoded(ONE) + b",17," + encoded(TWO) + b"]")
    assert len(items) == 3
    assert refusal(bytes(items[1])).code == "malformed"
    assert reading.read(items[2]).game_number == "82"


def test_an_array_that_does_not_close_is_malformed() -> None:
    with pytest.raises(ohh.Malformed):
        reading.split(b"[" + encoded(ONE))


# -- whatever comes ----------------------------------------------------------------------------


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3)
    ),
    max_leaves=6,
)


def paths(inside: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = inside.items() if isinstance(inside, dict) else ()
    items = enumerate(inside) if isinstance(inside, list) else items
    return [at, *(path for key, value in items for path in paths(value, (*at, key)))]


PATHS = [path for path in paths(json.loads(POST)["ohh"]) if path]


STABLE = {"malformed", "negative-amount"}


@given(path=st.sampled_from(PATHS), value=JSON_VALUES)
def test_a_field_of_any_value_is_stored_as_read_or_refused_with_a_stable_code(
    path: tuple[Any, ...], value: Any
) -> None:
    body = changed(path, value)
    if outcome(body) not in STABLE:
        hand = reading.read(body)
        packed = record.pack(record.encode(hand))
        names = [player.name for player in hand.players]
        assert record.unpack(packed, record.CURRENT, names) == hand


@given(st.binary(max_size=60), st.integers(0, len(POST)), st.integers(0, 40))
def test_any_bytes_are_read_or_refused_with_a_stable_code(
    bytes_: bytes, at: int, removed: int
) -> None:
    assert outcome(bytes_) in STABLE
    assert len(outcome(POST[:at] + bytes_ + POST[at + removed :])) > 0


@given(st.binary(max_size=60), st.integers(0, len(POST)), st.integers(0, 40))
def test_any_bytes_are_taken_apart_or_malformed(bytes_: bytes, at: int, removed: int) -> None:
    for body in (bytes_, POST[:at] + bytes_ + POST[at + removed :]):
        try:
            items = reading.split(body)
        except ohh.Malformed:
            assert body.strip().startswith(b"[")
        else:
            assert all(isinstance(item, bytes | msgspec.Raw) for item in items)


@given(st.integers(0, 2**53), st.integers(0, 4))
def test_an_amount_of_any_size_is_read_back_exactly(minor: int, zeros: int) -> None:
    whole, part = divmod(minor, 100)
    number = f"{whole}.{part:02d}{'0' * zeros}".encode()
    assert reading.read(changed(AMOUNT, number)).rounds[0].actions[0].amount == minor


# -- the published schema ----------------------------------------------------------------------


def test_every_added_key_is_described_in_the_schema() -> None:
    schema, parts = ohh.json_schema()
    assert schema == {"$ref": "#/components/schemas/HandDocument"}
    for name, part in parts.items():
        for key, value in part.get("properties", {}).items():
            if key.startswith("x_"):
                assert "description" in json.dumps(value), f"{name}.{key}"


def test_amounts_are_numbers_in_the_schema() -> None:
    _, parts = ohh.json_schema()
    assert parts["Win"]["properties"]["win_amount"]["type"] == "number"
