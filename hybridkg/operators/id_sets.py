"""Sets of entities: uint32 arrays, ascending and distinct. For those of a few hundred ids each call of numpy counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.text_index import Ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY = 4_096
"""Ids from which a table of all of them may be worth its making."""

NUMBERS_PER_SEARCH = 32
"""Numbers of a table of truth values that are written in the time in which one id is searched for."""


def held(ids: NDArray[Any], members: Ids) -> NDArray[Any]:
    """bool[len(ids)]: whether each id is in the set `members`; `ids` in any order, repeats allowed, -1 for none.

    >>> import numpy as np
    >>> held(np.array([5, 1, 9]), np.array([1, 5], np.uint32)).tolist()
    [True, True, False]
    """
    import numpy as np

    if not len(members):
        return np.zeros(len(ids), bool)
    if len(ids) > MANY and len(ids) * NUMBERS_PER_SEARCH > int(members[-1]):
        is_member = np.zeros(int(members[-1]) + 2, bool)  # the last one is for ids that are above all, or -1
        is_member[members] = True
        inside: NDArray[Any] = is_member[np.minimum(ids, int(members[-1]) + 1)]
        return inside
    at = members.searchsorted(ids)
    at[at == len(members)] = 0
    found: NDArray[Any] = members[at] == ids
    return found


def both(first: Ids, second: Ids) -> Ids:
    """The ids that are in both sets.

    >>> import numpy as np
    >>> both(np.array([1, 4, 9], np.uint32), np.array([4, 5, 9], np.uint32)).tolist()
    [4, 9]
    """
    small, large = (first, second) if len(first) <= len(second) else (second, first)
    found: Ids = small[held(small, large)]
    return found
