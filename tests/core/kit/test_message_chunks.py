import itertools

from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.kit.message_chunks import encoded_bytes, split_by_size

VALUES = st.lists(st.text(max_size=30), max_size=40)


def test_a_value_takes_its_encoded_bytes_and_a_comma() -> None:
    assert encoded_bytes("ä") == len('"ä"'.encode()) + 1


@given(VALUES, st.integers(1, 80), st.integers(1, 10))
def test_portions_hold_everything_in_order_and_keep_both_bounds(
    values: list[str], max_bytes: int, max_values: int
) -> None:
    found = list(split_by_size(values, max_bytes=max_bytes, max_values=max_values))
    assert [value for portion in found for value in portion] == values
    for portion in found:
        assert 1 <= len(portion) <= max_values
        assert sum(map(encoded_bytes, portion)) <= max_bytes or len(portion) == 1


@given(VALUES, st.integers(1, 80), st.integers(1, 10))
def test_no_portion_ends_before_it_is_full(values: list[str], max_bytes: int, max_values: int) -> None:
    found = list(split_by_size(values, max_bytes=max_bytes, max_values=max_values))
    for portion, following in itertools.pairwise(found):
        with_one_more = sum(map(encoded_bytes, (*portion, following[0])))
        assert len(portion) == max_values or with_one_more > max_bytes
