"""The knowledge base: the one class that knows both the graph and the text.

`query` is the way from query text to result; each line of it is one arrow of
docs/architecture.md and one folder of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hybridkg.algebra.from_ast import from_ast, is_hybrid
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import HybridkgError, Source
from hybridkg.planner.choose import PhysicalPlan, choose, oxigraph_only
from hybridkg.planner.explain import Explanation
from hybridkg.query.check import check
from hybridkg.query.parameters import ParameterValue, bind
from hybridkg.query.parser import parse
from hybridkg.results.build import build_result
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from hybridkg.query.ast import Query
