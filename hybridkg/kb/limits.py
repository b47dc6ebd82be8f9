"""Limits of a run: time, rows and memory."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.config.run_settings import LimitSettings
from hybridkg.errors import UnknownNameError, UserError
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.context import ExecutionContext

MAX_ROWS = 2**63 - 1
"""Cap of a limit: no store has as many rows."""


@dataclass(frozen=True)
class Limits:
    """The limits of one run: seconds, None for no limit, and rows and memory of an intermediate result."""

    timeout: float | None
    max_rows: int
    max_megabytes: float

    @classmethod
    def of(
        cls, settings: LimitSettings, timeout: object = None, max_rows: object = None, max_megabytes: object = None
    ) -> Limits:
        """The arguments, with the settings of kb.toml in place of None; a timeout of 0 is no limit.

        Raises:
            UserError: an argument is no number, or out of range.
        """
        seconds, rows, megabytes = settings.timeout, settings.max_rows, settings.max_megabytes
        if timeout is not None:
            seconds = _number("timeout", timeout, "a number of seconds, 0 for no limit", 0)
        if max_rows is not None:
            rows = int(_number("max_rows", max_rows, "a number of rows", 1))
        if max_megabytes is not None:
            megabytes = _number("max_megabytes", max_megabytes, "a number of megabytes", 0)
        return cls(seconds or None, rows, megabytes)

    def apply_to(self, context: ExecutionContext) -> ExecutionContext:
        """Sets the limits on rows and memory of a run; returns its context."""
        context.max_rows, context.max_bytes = self.max_rows, int(self.max_megabytes * 1e6)
        return context


def checked_limit(limit: object, strategy: object) -> int | None:
    """The limit, after a check of its type and of that of the strategy; the registry checks the strategy's name.

    Raises:
        UserError: the limit is no number of rows.
        UnknownNameError: the strategy is not a text.

    >>> checked_limit(10, None)
    10
    """
    if strategy is not None and not isinstance(strategy, str):
        raise UnknownNameError(f"no strategy {strategy!r}; known: {', '.join(STRATEGIES.names())}")
    if limit is None:
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise UserError(
            f"the limit is a whole number of rows, 0 or more, not {limit!r}", hint="None, the default, gives all rows"
        )
    return min(limit, MAX_ROWS)


def _number(name: str, value: object, unit: str, minimum: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value < float("inf"):
        raise UserError(f"{name} must be {unit}, not {value!r}")
    return value
