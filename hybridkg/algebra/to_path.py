"""Translation of property paths to paths of the projection (SPARQL 1.1 section 18.4)."""

from __future__ import annotations

from hybridkg.algebra.to_tests import UnsupportedPatternError
from hybridkg.interfaces.graph_index import AlternativePath, Closure, InversePath, Path, PredicatePath, Steps
from hybridkg.query import ast

_REPEATS = {"?": (0, 1), "*": (0, None), "+": (1, None)}


def path_of(path: ast.Path) -> Path:
    """The path of the projection, whose pairs count once.

    Raises:
        UnsupportedPatternError: the projection has no such path.

    >>> path_of(ast.PathRepeat(ast.Iri("e:p"), "+"))
    Closure(path=PredicatePath(predicate='e:p'), least=1, most=None)
    """
    match path:
        case ast.Iri(value):
            return PredicatePath(value)
        case ast.PathInverse(inner):
            return InversePath(path_of(inner))
        case ast.PathAlternative(parts):
            return AlternativePath(tuple(map(path_of, parts)))
        case ast.PathSequence(parts):
            return Steps(tuple(map(path_of, parts)))
        case ast.PathRepeat(inner, mark):
            return Closure(path_of(inner), *_REPEATS[mark])
    raise UnsupportedPatternError("a negated property set")


def starts_at_node(path: Path, inverse: bool = False) -> bool:
    """Whether every start (or, inverted, end) of a path has outgoing triples, so that it is not a literal.

    >>> starts_at_node(PredicatePath("e:p")), starts_at_node(Closure(PredicatePath("e:p"), 0, None))
    (True, False)
    """
    match path:
        case PredicatePath():
            return not inverse
        case InversePath(inner):
            return starts_at_node(inner, not inverse)
        case AlternativePath(paths):
            return all(starts_at_node(inner, inverse) for inner in paths)
        case Steps(paths):
            return starts_at_node(paths[-1 if inverse else 0], inverse)
        case Closure(inner, least):
            return least > 0 and starts_at_node(inner, inverse)
