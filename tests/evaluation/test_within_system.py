"""Systems of an experiment that rank within another system's best documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg.errors import ConfigError
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.report import write_report

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
BASE = "SELECT ?f { ?f MATCH $text ON (description) AS ?s } RANK BY ?s"
OTHER = "SELECT ?f { ?f MATCH $text AS ?s } RANK BY 0 - ?s"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, copy_films):
    folder = tmp_path_factory.mktemp("within")
    copy_films(folder / "kb")
    (folder / "topics.tsv").write_text("1\tspace crew mars\n2\todyssey\n")
    (folder / "qrels.txt").write_text("1 0 http://example.org/films/Alien 1\n2 0 http://example.org/films/Odyssey 1\n")
    return folder


def experiment(folder, within, more=""):
    text = f"""kb = "kb"
topics = "topics.tsv"
qrels = "qrels.txt"
measures = ["mrr"]
[systems.base]
query = "{BASE}"
{more}
[systems.within]
within = {within}
optional = true
"""
    (folder / "x.toml").write_text(text)
    return Experiment.read(folder / "x.toml")


def test_only_the_first_documents_are_ranked_by_the_scores_of_the_query(folder, tmp_path):
    every = f'[systems.every]\nquery = "{OTHER}"'
    outcome = experiment(folder, f'{{ of = "base", top = 3, query = "{OTHER}" }}', every).run(tmp_path / "out")
    base, within, other = (outcome.runs[name].run for name in ("base", "within", "every"))
    first = base.documents("1")[:3]
    assert sorted(within.documents("1")) == sorted(first)
    found = [document for document in other.documents("1") if document in first]
    assert found
    assert list(within.documents("1")) == [*found, *(one for one in first if one not in found)]
    scores = [score for _, score in within.rankings["1"]]
    assert scores == sorted(scores, reverse=True)
    write_report(outcome, tmp_path / "out")
    assert "among the first 3 of base" in (tmp_path / "out" / "report.md").read_text()
    again = experiment(folder, f'{{ of = "base", top = 2, query = "{OTHER}" }}', every).run(tmp_path / "out")
    assert len(again.runs["within"].run.documents("1")) == 2, "nothing stored of another top is taken"


def test_a_system_that_is_not_there_leaves_it_out_with_the_reason(folder):
    outcome = experiment(folder, f'{{ of = "bass", top = 3, query = "{OTHER}" }}').run()
    assert "within 'bass', which is not a system before it" in outcome.skipped["within"].reason


@pytest.mark.parametrize(
    ("within", "message"),
    [
        ('{ of = "base", top = 3 }', "a table with of, top, query"),
        (f'{{ of = "base", top = 0, query = "{OTHER}" }}', "from 1 to 10,000"),
        (f'{{ of = 1, top = 3, query = "{OTHER}" }}', "must be texts"),
    ],
)
def test_mistakes_have_their_line(folder, within, message):
    with pytest.raises(ConfigError, match=message) as raised:
        experiment(folder, within)
    assert "x.toml:9" in str(raised.value)
