"""Functions of RANK BY as a user meets them: names, arguments, errors, plans and answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError, QueryCheckError, UnknownNameError, UnsupportedQueryError
from hybridkg.interfaces.fusion import FUSIONS
from hybridkg.operators.rank_functions import fusion_of

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
FUSED = 'SELECT ?f ?t ?v { ?f NEAR "space crew" AS ?v OPTIONAL { ?f MATCH "space crew" AS ?t } } RANK BY '


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fusion") / "films.kb"
    with KnowledgeBase.create(folder) as kb:
        kb.load(FILMS, encoder="lsa")
        yield kb


def call(name):
    return f"{name}(?t, ?v)" if fusion_of(name).several else f"{name}(?t) + {name}(?v)"


@pytest.mark.parametrize("name", FUSIONS.names())
def test_every_function_fuses_words_and_vectors_the_same_by_every_strategy(films, name):
    answers = []
    for strategy in (None, "reference", "filter_first", "threshold"):
        if (name, strategy) != ("zscore", "threshold"):
            rows = films.query(
                FUSED + call(name).upper().replace("?T", "?t").replace("?V", "?v"), limit=7, strategy=strategy
            )
            answers.append([(tuple(row.to_python().values()), row.rank_score) for row in rows])
    assert len(answers[0]) == 7
    assert all(answer == answers[0] for answer in answers)


def test_the_length_of_a_given_text_weights_a_list_in_every_strategy(films):
    query = """SELECT ?f ?t ?v { ?f NEAR $text AS ?v OPTIONAL { ?f MATCH $text AS ?t } }
        RANK BY tmm(?t) + STRLEN($text) * tmm(?v) / 20 AS ?rank"""
    prepared = films.prepare(query)
    for text in ("space crew", "an astronaut who is left behind on Mars, and héros of 🚀"):
        answers = []
        for strategy in (None, "reference", "filter_first", "threshold"):
            rows = films.query(query, params={"text": text}, limit=7, strategy=strategy)
            answers.append([tuple(row.to_python().values()) for row in rows])
        answers.append([tuple(row.to_python().values()) for row in prepared.query({"text": text}, limit=7)])
        assert len(answers[0]) == 7
        assert all(answer == answers[0] for answer in answers)
        written = films.query(query.replace("STRLEN($text)", str(len(text))), params={"text": text}, limit=7)
        assert [str(row["f"]) for row in written] == [answer[0] for answer in answers[0]]


def test_zscore_needs_every_score_so_no_list_ends_early(films):
    with pytest.raises(UnsupportedQueryError):
        films.query(FUSED + call("zscore"), limit=3, strategy="threshold")


def test_the_plan_says_how_far_the_lists_were_read(films):
    plan = str(films.explain(FUSED + "rrf(?t, ?v) LIMIT 3", strategy="threshold", analyze=True))
    assert "Threshold ?f k=3" in plan
    assert "the best 31 of each list" in plan
    assert "Rank by rrf(?t, ?v) desc" in plan


@pytest.mark.parametrize(
    ("expression", "error", "message", "hint"),
    [
        ("rff(?t)", UnknownNameError, "no function of RANK BY 'rff'; known: combmnz, isr, minmax, rrf", "'rrf'"),
        ("2 * MinMaks(?t) + 1", UnknownNameError, "no function of RANK BY 'minmaks'", "'minmax'"),
        ("isr(?t, k=60)", QueryCheckError, "isr has no argument 'k'; known: none", ""),
        ("rrf(?t, c=60)", QueryCheckError, "rrf has no argument 'c'; known: k", ""),
        ("tmm(?t^2)", QueryCheckError, "the weight of ?t has no meaning in tmm", ""),
        ("tmm(?t, ?v)", QueryCheckError, "tmm takes one score", "tmm(?t) + tmm(?v)"),
        ("combmnz(?t^-1)", QueryCheckError, "the weight of ?t must be between 0 and", ""),
    ],
)
def test_what_is_wrong_is_said_with_what_is_known(films, expression, error, message, hint):
    with pytest.raises(error) as raised:
        films.query(FUSED + expression)
    assert message in raised.value.message
    assert hint in raised.value.hint


@pytest.mark.parametrize("using", ["lm", "sdm", "bm25f(form=galago)"])
def test_tmm_declines_scores_that_have_no_least(films, using):
    with pytest.raises(UnsupportedQueryError, match="as used here has none"):
        films.query(f'SELECT * {{ ?f MATCH "space" USING {using} AS ?t }} RANK BY tmm(?t)')


@pytest.mark.parametrize("using", ["bm25f(k1=2)", "bm25", "combined_fields"])
def test_tmm_of_a_model_whose_least_score_is_0(films, using):
    rows = films.query(f'SELECT ?t {{ ?f MATCH "space" ON (label, description) USING {using} AS ?t }} RANK BY tmm(?t)')
    assert [row.rank_score for row in rows] == [row.scores["t"] / rows[0].scores["t"] for row in rows]


def test_a_word_that_is_no_function_stays_a_mistake_of_the_keyboard(films):
    with pytest.raises(HybridkgError, match="did you mean STRLEN"):
        films.query("SELECT * { ?f ?p ?o FILTER(strlenn(?o) > 2) }")


def test_a_ranking_inside_optional_has_ranks_of_its_own(films):
    query = """SELECT ?f ?s ?r { ?f MATCH "space crew alien" AS ?s
        OPTIONAL { SELECT ?f ?r { ?f MATCH "crew" AS ?s } RANK BY rrf(?s) AS ?r LIMIT 3 } } RANK BY rrf(?s) LIMIT 2"""
    want = [tuple(row.to_python().values()) for row in films.query(query, strategy="reference")]
    for strategy in (None, "filter_first", "threshold"):
        assert [tuple(row.to_python().values()) for row in films.query(query, strategy=strategy)] == want


@pytest.mark.parametrize("name", FUSIONS.names())
def test_a_union_has_the_best_rows_of_each_list(films, name):
    query = f'SELECT * {{ {{ ?f NEAR "crew" AS ?v }} UNION {{ ?f MATCH "crew" AS ?t }} }} RANK BY {call(name)} LIMIT 6'
    answers = [
        [tuple(row.to_python().values()) for row in films.query(query, strategy=strategy)]
        for strategy in (None, "reference", *(() if name == "zscore" else ("each_list",)))
    ]
    assert len(answers[0]) == 6
    assert all(answer == answers[0] for answer in answers)
