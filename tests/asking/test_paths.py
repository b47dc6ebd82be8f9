"""Paths from anchors: what the projection counts is what the queries find."""

from __future__ import annotations

import numpy as np

from hybridkg.asking.emit import QuerySurroundings, pattern_query
from hybridkg.asking.paths import routes
from hybridkg.asking.slots import Anchor, PathConstraint, Slots, Target
from hybridkg.kb.snapshot import snapshot_of

NS = "http://example.org/films/"


def asked(films):
    return snapshot_of(films).asked


def queried(films, node, steps):
    """The answers of the query of one path."""
    base = asked(films)
    kind = base.schema.kind(int(base.graph.find(base.nodes([node]))[0]))
    anchor = Anchor("", 0, 0, base.nodes([node])[0].value, "", kind, 1.0)
    constraint = PathConstraint(anchor, steps, 1.0, 0)
    slots = Slots("", Target(steps[-1].target, "", 1.0), (constraint,), "", 0)
    around = QuerySurroundings(base.types, True, 1.0, base.mixed, {}, base.schema.classes, base.graph.n_entities)
    return {str(row["x"]) for row in films.query(pattern_query(slots, around))}


def test_the_answers_of_a_path_are_those_of_its_query(films):
    base = asked(films)
    seen = set()
    for start in base.schema.names:
        node = int(base.instances(start)[0])
        for target in base.schema.names:
            for steps in routes(base, start, target)[:12]:
                ids = base.reach(base.nodes([node])[0].value, steps)
                assert {one.value for one in base.nodes(ids.tolist())} == queried(films, node, steps), steps
                assert np.all(np.diff(ids.astype(np.int64)) > 0)
                seen.add(len(steps))
    assert seen == {1, 2, 3}


def test_the_anchor_is_not_on_the_way_to_its_answers(films):
    base = asked(films)
    director = NS + "director"
    wanted = [(director, False), (director, True), (director, False)]
    (steps,) = [
        steps
        for steps in routes(base, NS + "Film", NS + "Director")
        if [(step.predicate, step.inverse) for step in steps] == wanted
    ]
    others = {
        name: [one.value for one in base.nodes(base.reach(NS + name, steps).tolist())]
        for name in ("Alien", "Metropolis")
    }
    assert others == {"Alien": [NS + "Scott"], "Metropolis": []}  # Lang has no other film
