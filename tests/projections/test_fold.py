"""What a fold takes for granted of the busiest events."""

from typing import get_type_hints

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ledger.core import Event
from projections.fold import MOVES


@given(
    event_type=st.sampled_from(MOVES),
    key=st.tuples(*[st.text(min_size=1, max_size=3)] * 4),
    amounts=st.tuples(*[st.integers(1, 10**12)] * 2),
    data=st.data(),
)
def test_what_is_moved_at_a_table_goes_between_accounts_that_four_fields_tell(
    event_type: type[Event], key: tuple[str, ...], amounts: tuple[int, int], data: st.DataObject
) -> None:
    """Of such events only the first one's postings are asked for."""
    told = dict(zip(("network", "table", "currency", "player"), key, strict=True))
    hints = get_type_hints(event_type)
    fields = {name: st.from_type(hints[name]) for name in event_type.__struct_fields__}
    plain, full = st.from_type(event_type), st.builds(event_type, **fields)
    drawn = data.draw(st.tuples(plain, full))
    postings = [
        msgspec.structs.replace(event, **told, amount_minor=amount).postings()
        for event, amount in zip(drawn, amounts, strict=True)
    ]
    for lines, amount in zip(postings, amounts, strict=True):
        assert [line.amount_minor for line in lines] == [amount, -amount]
    first, second = ([line[:2] for line in lines] for lines in postings)
    assert first == second
