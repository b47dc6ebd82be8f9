"""Sets of entity ids: uint32 arrays, ascending and distinct. With a few hundred ids, every numpy call counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.text_index import Ids
from hybridkg.operators.partition import FEW
from hybridkg.storage.distinct import sorted_distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY = 4_096
"""Minimum ids for a membership table."""

NUMBERS_PER_SEARCH = 32
"""Entries of a membership table written in the time of one binary search."""


def held(ids: NDArray[Any], members: Ids) -> NDArray[Any]:
    """Membership mask: bool[len(ids)]; `ids` in any order, repeats allowed, -1 for none.

    >>> import numpy as np
    >>> held(np.array([5, 1, 9]), np.array([1, 5], np.uint32)).tolist()
    [True, True, False]
    """
    import numpy as np

    if not len(members):
        return np.zeros(len(ids), bool)
    if len(ids) > MANY and len(ids) * NUMBERS_PER_SEARCH > int(members[-1]):
        is_member = np.zeros(int(members[-1]) + 2, bool)  # the last entry is for larger ids, and -1
        is_member[members] = True
        mask: NDArray[Any] = is_member[np.minimum(ids, int(members[-1]) + 1)]
        return mask
    at = members.searchsorted(ids)
    at[at == len(members)] = 0
    found: NDArray[Any] = members[at] == ids
    return found


def places(ids: Ids, members: Ids) -> NDArray[Any]:
    """int[len(ids)]: the place of each id in a set that has all of them.

    >>> import numpy as np
    >>> places(np.array([5, 1, 5], np.uint32), np.array([1, 5], np.uint32)).tolist()
    [1, 0, 1]
    """
    import numpy as np

    if len(ids) > MANY and len(ids) * NUMBERS_PER_SEARCH > int(members[-1]):
        place = np.empty(int(members[-1]) + 1, np.uint32)
        place[members] = np.arange(len(members), dtype=np.uint32)
        found: NDArray[Any] = place[ids]
        return found
    return members.searchsorted(ids)


def below(ids: NDArray[Any], end: int) -> NDArray[Any]:
    """The part of a set that is below a number, such as the entities among the nodes of a graph.

    >>> import numpy as np
    >>> below(np.array([1, 4, 9], np.uint32), 9).tolist()
    [1, 4]
    """
    return ids[: ids.searchsorted(ids.dtype.type(end))] if len(ids) and int(ids[-1]) >= end else ids


def both(first: Ids, second: Ids) -> Ids:
    """Intersection of two sets.

    >>> import numpy as np
    >>> both(np.array([1, 4, 9], np.uint32), np.array([4, 5, 9], np.uint32)).tolist()
    [4, 9]
    """
    small, large = (first, second) if len(first) <= len(second) else (second, first)
    common: Ids = small[held(small, large)]
    return common


def distinct_ids(ids: Ids) -> Ids:
    """The set of ids given in any order, with repeats.

    >>> import numpy as np
    >>> distinct_ids(np.array([7, 3, 7], np.uint32)).tolist()
    [3, 7]
    """
    import numpy as np

    if len(ids) <= FEW:
        return np.array(sorted(set(ids.tolist())), np.uint32)
    low, high = int(ids.min()), int(ids.max())
    if len(ids) <= MANY or high - low > NUMBERS_PER_SEARCH * len(ids):
        return sorted_distinct(ids)
    is_member = np.zeros(high - low + 1, bool)
    is_member[ids - np.uint32(low)] = True
    return (np.flatnonzero(is_member) + low).astype(np.uint32)
