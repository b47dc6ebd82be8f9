"""What a datatype allows is what Oxigraph says, also where it is not asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.rdf.stored import MAX_PLAIN_DIGITS, NUMBERS, _has_value, is_value

texts = st.one_of(
    st.text("0123456789", max_size=MAX_PLAIN_DIGITS + 3),
    st.text("9", min_size=MAX_PLAIN_DIGITS - 1, max_size=MAX_PLAIN_DIGITS + 3),
    st.text("01 9+-.eE²٣", max_size=5),
)


@pytest.mark.parametrize("datatype", sorted(NUMBERS))
@given(text=texts)
def test_a_text_is_a_number_where_oxigraph_says_so(datatype, text):
    assert is_value(text, datatype) == _has_value(f'<{datatype}>("{text}")')
