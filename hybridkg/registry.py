"""Registries of built-ins and plug-ins: names with dotted paths, which are imported at their first use.

A plug-in is a Python entry point in the registry's group; it cannot replace a built-in name.
"""

from __future__ import annotations

import difflib
import logging
import sys
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

from hybridkg.errors import MissingExtraError, Span, UnknownNameError
from hybridkg.extras import missing_extra

_log = logging.getLogger(__name__)


def did_you_mean(name: str, known: list[str]) -> str:
    """A hint with the nearest known name; empty if there is none.

    >>> did_you_mean("rff", ["linear", "rrf"])
    "did you mean 'rrf'?"
    """
    near = difflib.get_close_matches(name.lower(), known, 1)
    return f"did you mean {near[0]!r}?" if near else ""


class Registry:
    """Names of one kind, each with the dotted path `package.module:attribute` of its implementation.

    Args:
        kind: noun for messages.
        group: entry-point group of plug-ins (docs/extensions.md).
        builtin: name -> dotted path in this package.
        extra: extra with their optional packages; empty for the extra of the same name.
        default: default name; empty for none.
    """

    def __init__(self, kind: str, group: str, builtin: Mapping[str, str], *, extra: str = "", default: str = ""):
        self.kind, self.group, self.extra, self.default = kind, group, extra, default
        self._builtin = dict(builtin)
        self._imported: set[str] = set()

    @cached_property
    def _plugins(self) -> dict[str, str]:
        from importlib.metadata import entry_points

        return {point.name: point.value for point in entry_points(group=self.group)}

    def names(self) -> list[str]:
        """Every known name, sorted."""
        return sorted({*self._plugins, *self._builtin})

    def __contains__(self, name: object) -> bool:
        """Whether the name is known; entry points are read only if it is not built in."""
        return isinstance(name, str) and (name in self._builtin or name in self._plugins)

    @property
    def builtin_names(self) -> tuple[str, ...]:
        """The built-in names, in the order of the registry."""
        return tuple(self._builtin)

    def other_than(self, name: str) -> str:
        """A built-in name to compare `name` with: the default, or the first other one."""
        return next(other for other in (self.default, *self._builtin) if other and other != name)

    def plugins(self) -> list[Any]:
        """The registered objects of other packages, imported, without those that cannot be."""
        loaded = []
        for name in self.names():
            try:
                loaded += [] if self.is_builtin(name) else [self.get(name)]
            except Exception as e:  # foreign code; whoever asks for it by its name gets the error
                _log.warning("the %s %r cannot be loaded: %s", self.kind, name, e)
        return loaded

    def is_builtin(self, name: object) -> bool:
        """Whether the name is built in."""
        return name in self._builtin

    def get(self, name: str, *, span: Span | None = None) -> Any:
        """The object registered as `name`. Raises UnknownNameError; MissingExtraError: its package is missing."""
        path = self._builtin.get(name) or self._plugins.get(name)
        if path is None:
            raise UnknownNameError(
                f"no {self.kind} {name!r}; known: {', '.join(self.names())}",
                hint=did_you_mean(name, self.names()),
                span=span,
            )
        module, _, attribute = path.partition(":")
        try:
            return getattr(self._module(module), attribute)
        except ModuleNotFoundError as e:
            if e.name is None or e.name.split(".")[0] == module.split(".")[0]:
                raise
            feature, package = f"{self.kind} {name!r}", e.name.split(".")[0]
            if not self.is_builtin(name):
                hint = f"pip install {package}"
                raise MissingExtraError(f"{feature} needs the package {package!r}", hint=hint) from e
            raise missing_extra(self.extra or name, feature, package) from e

    def _module(self, name: str) -> ModuleType:
        """The module, from sys.modules (import_module takes 1.5 us) once it is known to be completely imported."""
        module = sys.modules.get(name) if name in self._imported else None
        if module is None:
            module = import_module(name)
            self._imported.add(name)
        return module
