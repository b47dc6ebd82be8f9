"""Protection of the secrets in a kb.toml: which of its lines and values are never printed.

A kb.toml must not hold secrets, and people put them there. Malformed lines cannot be parsed, so the decision is by
words, and hides a line in case of doubt.
"""

from __future__ import annotations

import re
import tomllib

from hybridkg.config.settings import SECRETS
from hybridkg.config.toml import parse_toml

SECRET_WORD = re.compile("|".join((*SECRETS, "apikey", "passw", "pwd", "auth", "bearer", "credential")), re.IGNORECASE)
"""Parts of the names of secrets."""

USER_INFO = re.compile(r"(:/{1,2})[^\s\"'<>]*@")
"""User name and password of an address, up to the last `@`: a password may have any character."""

ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")

MAX_SHOWN = 200
"""Characters of a value that are shown."""


def may_hold_secret(text: str, number: int) -> bool:
    r"""Whether a 1-based line of a kb.toml may hold a secret, by its own key, its table, or the key that opened it.

    >>> text = '[elasticsearch]\nshards = x\npassword = \"\"\"\nopen sesame\n'
    >>> [may_hold_secret(text, number) for number in (1, 2, 3, 4)]
    [False, False, True, True]
    """
    lines = text.split("\n")
    line = lines[number - 1] if number <= len(lines) else ""
    if _has_secret_word(line) or USER_INFO.search(line):
        return True
    # A secret table goes on to the next header, and what a secret key opens goes on until it is closed.
    above = filter(_has_secret_word, lines[: number - 1])
    return any(one.lstrip().startswith("[") or not is_complete(one) for one in above)


def is_complete(line: str) -> bool:
    """Whether a line is TOML by itself, so that no string or table goes on behind it."""
    try:
        parse_toml(line)
    except tomllib.TOMLDecodeError:
        return False
    return True


def without_user_info(text: str) -> str:
    """The text without user names and passwords in addresses.

    >>> without_user_info("https://me:se/cret@host:9200/")
    'https://***@host:9200/'
    """
    return USER_INFO.sub(r"\1***@", text)


def shown_value(value: object) -> str:
    """A value of a wrong setting for people: of tables and arrays only the kind.

    >>> shown_value("lsa"), shown_value({"password": "x"}), shown_value(3)
    ("'lsa'", 'a table', '3')
    """
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    return cut(without_user_info(repr(value)))


def cut(text: str, most: int = MAX_SHOWN) -> str:
    """The first characters of a long text, and its length.

    >>> cut("abcdef", 3)
    'abc... (6 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def _has_secret_word(line: str) -> bool:
    plain = ESCAPE.sub(lambda match: chr(min(int(match[1] or match[2], 16), 0x10FFFF)), line)
    return SECRET_WORD.search(plain) is not None
