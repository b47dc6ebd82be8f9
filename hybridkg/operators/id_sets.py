"""Sets of entities: uint32 arrays, ascending and distinct. For those of a few hundred ids each call of numpy counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.text_index import Ids

if TYPE_CHECKING:
    from numpy.typing import NDArray


def held(ids: NDArray[Any], members: Ids) -> NDArray[Any]:
    """bool[len(ids)]: whether each id is in the set `members`; `ids` in any order, repeats allowed, -1 for none.

    >>> import numpy as np
    >>> held(np.array([5, 1, 9]), np.array([1, 5], np.uint32)).tolist()
    [True, True, False]
    """
    import numpy as np

    if not len(members):
        return np.zeros(len(ids), bool)
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
