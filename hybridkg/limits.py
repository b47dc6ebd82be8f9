"""What one query may use: time, rows, memory."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.errors import UserError
from hybridkg.operators.context import ExecutionContext


@dataclass(frozen=True)
class Limits:
    """What one query may use.

    Args:
        timeout: seconds; None for no limit.
        max_rows: rows of an intermediate result.
        max_megabytes: memory of one.
    """

    timeout: float | None
    max_rows: int
    max_megabytes: float

    @classmethod
    def of(cls, timeout: object, max_rows: object, max_megabytes: object) -> Limits:
        """The limits; a timeout of 0 is none.

        Raises:
            UserError: one is no number, or out of range.
        """
        return cls(
            _number("timeout", timeout, "seconds, 0 for no limit", 0) or None,
            int(_number("max_rows", max_rows, "a number of rows", 1)),
            _number("max_megabytes", max_megabytes, "a number of megabytes", 0),
        )

    def kept_by(self, context: ExecutionContext) -> ExecutionContext:
        """The state of a run, which keeps them from now on."""
        context.max_rows, context.max_bytes = self.max_rows, int(self.max_megabytes * 1e6)
        return context


def _number(name: str, value: object, what: str, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
        raise UserError(f"{name} is {what}, not {value!r}")
    return value
