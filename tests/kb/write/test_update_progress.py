"""An update of a large graph reports the progress of its WHERE."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.kb.write import updating


class Told:
    def __init__(self):
        self.steps = []

    def start(self, label, total):
        self.steps.append([label, total])

    def advance(self, _, items):
        pass

    def done(self, items):
        self.steps[-1].append(items)


UPDATE = "INSERT { ?f <e:same> ?f } WHERE { ?f a <http://example.org/films/Film> }"


@pytest.mark.parametrize(("told_from", "steps"), [(1, [["evaluating the WHERE", None, 15]]), (1_000, [])])
def test_the_where_of_an_update_of_a_large_graph_is_a_step(copy_films, tmp_path, monkeypatch, told_from, steps):
    monkeypatch.setattr(updating, "TOLD_FROM", told_from)
    told = Told()
    with KnowledgeBase.open(copy_films(tmp_path / "films.kb")) as kb:
        report = kb.update(UPDATE, progress=told)
    assert report.added == 15
    assert [step for step in told.steps if "WHERE" in step[0]] == steps
