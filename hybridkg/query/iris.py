"""IRI references: resolution against a base (RFC 3986 section 5.2) and validation.

Python's urljoin resolves only schemes of a fixed list; SPARQL requires the algorithm for every scheme.
"""

from __future__ import annotations

import re

from hybridkg.rdf.terms import NamedNode

_PARTS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
"""RFC 3986 appendix B."""

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def is_absolute(reference: str) -> bool:
    return _ABSOLUTE.match(reference) is not None


def resolve(reference: str, base: str) -> str:
    """The absolute IRI of a reference, resolved against a base.

    An absolute reference stays exactly as it is written, dot segments included, because IRIs are compared as strings.

    >>> resolve("../c?q", "http://e/a/b#f"), resolve("", "http://e/a#f")
    ('http://e/c?q', 'http://e/a')
    """
    if is_absolute(reference):
        return reference
    r, b = _parts(reference), _parts(base)
    authority, path, query = r["authority"], r["path"] or "", r["query"]
    if authority is not None:
        path = _without_dots(path)
    else:
        authority = b["authority"]
        if not path:
            path, query = b["path"] or "", b["query"] if query is None else query
        else:
            path = _without_dots(path if path.startswith("/") else _merged(b, path))
    parts = [f"{b['scheme']}:"]
    parts += [] if authority is None else [f"//{authority}"]
    parts.append(path)
    parts += [] if query is None else [f"?{query}"]
    parts += [] if r["fragment"] is None else [f"#{r['fragment']}"]
    return "".join(parts)


def _parts(reference: str) -> dict[str, str | None]:
    match = _PARTS.fullmatch(reference)
    assert match is not None  # every part may be empty
    return match.groupdict()


def _merged(base: dict[str, str | None], path: str) -> str:
    base_path = base["path"] or ""
    if base["authority"] is not None and not base_path:
        return "/" + path
    return base_path[: base_path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    """RFC 3986 section 5.2.4, by segments."""
    segments = path.split("/")
    output: list[str] = []
    for i, segment in enumerate(segments):
        last = i == len(segments) - 1
        if segment == "..":
            if len(output) > 1 or (output and output[0]):
                output.pop()
            if last:
                output.append("")
        elif segment == ".":
            if last:
                output.append("")
        else:
            output.append(segment)
    return "/".join(output)


def why_invalid(iri: str) -> str:
    """The reason why a text is not an absolute IRI, in a few words; empty for a valid one.

    >>> why_invalid("http://example.org/%zz")
    "invalid IRI percent encoding '%zz'"
    """
    try:
        NamedNode(iri)
    except ValueError as e:
        text = str(e)
        return text[:1].lower() + text[1:]
    return ""
