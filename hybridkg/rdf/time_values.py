"""Values of the dates, times and durations of XML Schema, as exact numbers of any size.

Python's datetime ends at the years 1 and 9999 and at microseconds. Literals without a time zone are read as UTC.
Source: XML Schema 1.1 part 2, sections 3.3.6 to 3.3.16 and 3.4.26 to 3.4.27, and appendix E.3 (Gregorian arithmetic).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from hybridkg.rdf.terms import XSD

DAY = 24 * 3600
"""Seconds of a day."""

FARTHEST_ZONE = 14 * 60
"""The maximum offset of a time zone in minutes."""

LEAP_YEAR = 1972
"""The year of values that have none."""

_REFERENCES = ((1696, 9), (1697, 2), (1903, 3), (1903, 7))
"""(year, month) of the instants to which two durations are added in order to compare them (section 3.3.6.2)."""

_YEAR, _MONTH, _DATE = r"(?P<year>-?(?:[1-9]\d{4,11}|\d{4}))", r"(?P<month>\d\d)", r"(?P<day>\d\d)"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d(?:\.\d{1,18})?)"
_ZONE = r"(?P<zone>Z|[+-]\d\d:\d\d)?"
_N = r"(\d{1,18})"

_FORMS = {
    "dateTime": f"{_YEAR}-{_MONTH}-{_DATE}T{_TIME}",
    "dateTimeStamp": f"{_YEAR}-{_MONTH}-{_DATE}T{_TIME}",
    "date": f"{_YEAR}-{_MONTH}-{_DATE}",
    "time": _TIME,
    "gYear": _YEAR,
    "gYearMonth": f"{_YEAR}-{_MONTH}",
    "gMonth": f"--{_MONTH}",
    "gMonthDay": f"--{_MONTH}-{_DATE}",
    "gDay": f"---{_DATE}",
}
_MOMENTS = {XSD + name: re.compile(form + _ZONE, re.ASCII) for name, form in _FORMS.items()}

_DURATION = re.compile(
    rf"(-?)P(?=.)(?:{_N}Y)?(?:{_N}M)?((?:{_N}D)?(?:T(?=.)(?:{_N}H)?(?:{_N}M)?(?:(\d{{1,18}}(?:\.\d{{1,18}})?)S)?)?)",
    re.ASCII,
)

Value = tuple[int | Fraction, ...]
"""Numbers that order the values of one kind; of a duration the last two are its months and seconds."""


def time_value(datatype: str, text: str) -> Value | None:
    """The value of a literal, comparable with those of the same `comparable_kind`; None if it has no such value.

    >>> time_value(XSD + "dateTime", "1970-01-02T00:00:00+01:00"), time_value(XSD + "gYear", "1970")
    ((82800,), (0,))
    >>> time_value(XSD + "dateTime", "1970-01-01T00:00:01.5Z"), time_value(XSD + "date", "2023-02-29")
    ((Fraction(3, 2),), None)
    """
    read = _READERS.get(datatype)
    return None if read is None else read(datatype, text)


def comparable_kind(datatype: str) -> str:
    """The datatype whose values those of this one are comparable with: a duration with any other.

    >>> comparable_kind(XSD + "dayTimeDuration") == comparable_kind(XSD + "duration") == XSD + "duration"
    True
    """
    return XSD + "duration" if datatype in _DURATIONS else datatype


def _moment(datatype: str, text: str) -> Value | None:
    """Seconds since 1970 in UTC."""
    match = _MOMENTS[datatype].fullmatch(text)
    if match is None:
        return None
    parts = match.groupdict()
    year = int(parts.get("year") or LEAP_YEAR)
    month, day = int(parts.get("month") or 1), int(parts.get("day") or 1)
    if not 1 <= month <= 12 or not 1 <= day <= _days_of(year, month):
        return None
    seconds = _seconds(parts)
    zone = _zone(parts["zone"])
    if seconds is None or zone is None:
        return None
    if "year" not in parts:
        seconds %= DAY  # the time 24:00:00 is 00:00:00
    return (_days(year, month) * DAY + (day - 1) * DAY + seconds - zone,)


def _seconds(parts: Mapping[str, str | None]) -> int | Fraction | None:
    """Seconds of a time of day, up to 24:00:00; None for an invalid time."""
    second = parts.get("second")
    if second is None:
        return 0
    hour, minute, exact = int(parts["hour"] or 0), int(parts["minute"] or 0), Fraction(second)
    if minute > 59 or exact >= 60 or hour * 3600 + minute * 60 + exact > DAY:
        return None
    return hour * 3600 + minute * 60 + (exact if "." in second else int(second))


def _zone(zone: str | None) -> int | None:
    """Seconds of an offset from UTC; None for an invalid one."""
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if minutes > 59 or hours * 60 + minutes > FARTHEST_ZONE:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def _duration(datatype: str, text: str) -> Value | None:
    """(order, months, seconds): the order agrees with section 3.3.6.2 wherever that compares two durations.

    It is the sum of the four instants that are compared there, so P1Y, of 365 or 366 days, is between P365D and P366D.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    sign, years, months, in_days, days, hours, minutes, seconds = match.groups()
    has_months = years is not None or months is not None
    if (has_months and datatype == _DAY_TIME) or (in_days and datatype == _YEAR_MONTH):
        return None
    factor = -1 if sign else 1
    total = factor * (int(years or 0) * 12 + int(months or 0))
    exact = Fraction(seconds) if "." in (seconds or "") else int(seconds or 0)
    rest = factor * (int(days or 0) * DAY + int(hours or 0) * 3600 + int(minutes or 0) * 60 + exact)
    ends = (_days(year, month + total) * DAY + rest for year, month in _REFERENCES)
    return (sum(ends), total, rest)


def _days(year: int, month: int) -> int:
    """Days from 1970-01-01 to the first day of a month, which may be any number: the month 13 is the next January.

    >>> _days(1970, 1), _days(1969, 13), _days(0, 3), _days(1972, 3) - _days(1972, 2)
    (0, 0, -719468, 29)
    """
    months = year * 12 + month - 3
    since_march, year = months % 12, months // 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * since_march + 2) // 5 - 719468


def _days_of(year: int, month: int) -> int:
    return _days(year, month + 1) - _days(year, month)


_DAY_TIME, _YEAR_MONTH = XSD + "dayTimeDuration", XSD + "yearMonthDuration"
_DURATIONS = frozenset({XSD + "duration", _DAY_TIME, _YEAR_MONTH})
_READERS: Mapping[str, Callable[[str, str], Value | None]] = {
    **dict.fromkeys(_MOMENTS, _moment),
    **dict.fromkeys(_DURATIONS, _duration),
}
