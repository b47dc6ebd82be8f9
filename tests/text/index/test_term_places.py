from bisect import bisect_left

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.text.index.postings import TermDictionary, prefixes_of

# Few letters and lengths around eight, so that prefixes are often shared; no term is empty or has a NUL.
TERM = st.text("ab\u00e9", min_size=1, max_size=11).map(lambda text: text.encode())
TERMS = st.sets(TERM, max_size=30).map(sorted)


class _Arrays:
    def __init__(self, terms):
        self._arrays = {
            "terms.offsets": np.cumsum([0, *map(len, terms)]).astype(np.uint64),
            "terms.text": np.frombuffer(b"".join(terms), np.uint8),
            "terms.prefixes": prefixes_of(terms),
        }

    def array(self, name):
        return self._arrays[name]


@given(TERMS, TERMS)
def test_places_of_many_terms_are_those_of_each(terms, wanted):
    places, known = TermDictionary(_Arrays(terms)).places(wanted)
    assert places.tolist() == [bisect_left(terms, term) for term in wanted]
    assert known.tolist() == [term in terms for term in wanted]
