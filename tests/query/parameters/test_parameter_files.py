"""`USING bm25f(@params.toml)`: a file of parameters is the same as writing its values."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridkg import KnowledgeBase
from hybridkg.config.model_parameters import ModelParameters, parse_model_parameters
from hybridkg.errors import ConfigError, QueryCheckError, QuerySyntaxError, TextQueryError
from hybridkg.query.parser import parse
from hybridkg.query.write import write

FILMS = "examples/films.ttl"


def asked(using, on=""):
    return f'SELECT ?f {{ ?f MATCH "deep space" {on} USING {using} AS ?s }} RANK BY ?s'


@pytest.fixture(scope="module")
def films(request):
    with KnowledgeBase.temporary(request.config.rootpath / FILMS) as kb:
        yield kb


@pytest.fixture
def folder(films):
    models = films._folder.path / "models"
    models.mkdir(exist_ok=True)
    parameters = ModelParameters(
        "bm25f", {"k1": 2.0, "form": "galago"}, {"label": {"weight": 0.5, "b": 0.1}, "description": {"b": 1.0}}
    )
    (models / "tuned.toml").write_text(parameters.to_toml())
    return models


def rows(films, query):
    return [(str(row["f"]), row.scores["s"]) for row in films.query(query)]


def test_a_file_is_the_same_as_its_values(films, folder):
    written = asked("bm25f(k1=2.0, form=galago)", "ON (label^0.5 b=0.1, description b=1.0)")
    assert rows(films, asked("bm25f(@tuned.toml)")) == rows(films, written)


def test_what_the_query_says_wins(films, folder):
    written = asked("bm25f(k1=1.2, form=galago)", "ON (label^4 b=0.1)")
    assert rows(films, asked("bm25f(@tuned.toml, k1=1.2)", "ON (label^4)")) == rows(films, written)


@pytest.mark.parametrize(
    "query", [asked("bm25f(@a/b-c.toml)"), asked("bm25f(@x, k1=2, form=galago)"), asked("elr(links=@l.tsv)")]
)
def test_files_survive_the_round_trip(query):
    tree = parse(query)
    assert parse(write(tree)) == tree


def test_a_language_tag_is_still_one():
    assert parse('SELECT * { ?s ?p "x"@en-GB . ?f MATCH "y"@de ON (label@en) }')


@pytest.mark.parametrize(
    ("using", "error", "message"),
    [
        ("bm25f(@no.toml)", QueryCheckError, "no file of parameters 'no.toml'"),
        ("bm25f(@../kb.toml)", QueryCheckError, "no file of parameters '../kb.toml'"),
        ("bm25f(@/etc/passwd)", QueryCheckError, "no file of parameters '/etc/passwd'"),
        ("mlm(@tuned.toml)", QueryCheckError, "has the parameters of 'bm25f', not of 'mlm'"),
        ("bm25f(@tuned.toml, @tuned.toml)", QuerySyntaxError, "from one file"),
        ("bm25f(@broken.toml)", ConfigError, "not TOML"),
        ("bm25f(@wrong.toml)", ConfigError, "no key 'modell'"),
        (f"bm25f(@{'x' * 5000})", QueryCheckError, "no file of parameters"),
        ("bm25f(@heavy.toml)", QueryCheckError, "the weight of 'label' is 1e[+]308; it must be between 0 and"),
        ("bm25f(@long.toml)", ConfigError, "'k1' must be a finite number, not one so large"),
        ("bm25f(@longer.toml)", ConfigError, "not TOML: exceeds the limit"),
    ],
)
def test_mistakes_are_told(films, folder, using, error, message):
    (folder / "broken.toml").write_text("model = ")
    (folder / "wrong.toml").write_text('modell = "bm25f"')
    (folder / "heavy.toml").write_text('model = "bm25f"\n[fields.label]\nweight = 1e308')
    (folder / "long.toml").write_text(f'model = "bm25f"\n[arguments]\nk1 = {"9" * 400}')
    (folder / "longer.toml").write_text(f'model = "bm25f"\n[arguments]\nk1 = {"9" * 5000}')
    with pytest.raises(error, match=message):
        films.query(asked(using))


@pytest.mark.parametrize("links", ['"http://x"', '"<http://x> 2"', "@no.tsv"])
def test_wrong_links_are_told_with_the_argument_and_no_place_in_the_query(films, links):
    with pytest.raises(TextQueryError, match=r"argument 'links' of model 'elr': ") as e:
        films.query(asked(f"elr(links={links})"))
    assert e.value.span is None


name = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
number = st.floats(allow_nan=False, allow_infinity=False)
parameters = st.builds(
    ModelParameters,
    name,
    st.dictionaries(name, number | st.sampled_from(["galago", "jm"])),
    st.dictionaries(name, st.dictionaries(name, number)),
)


@settings(deadline=None)
@given(parameters)
def test_parameters_survive_the_file(own):
    assert parse_model_parameters(own.to_toml(), "t.toml") == own


@settings(deadline=None)
@given(st.text() | st.binary().map(lambda b: b.decode("latin-1")))
def test_any_text_is_parameters_or_an_error_of_ours(text):
    with suppress(ConfigError):
        parse_model_parameters(text, "t.toml")
