"""What is said of an entity by a fragment holds in every solution that Oxigraph finds."""

from __future__ import annotations

from itertools import product

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampling import examples, sampled

from hybridkg.entities.profile.filters import agrees
from hybridkg.interfaces.text_index import AnyCondition, PushdownCondition
from hybridkg.operators import pushdown_conditions as conditions_module
from hybridkg.operators.pushdown_conditions import MAX_CONDITIONS, conditions, leaves, say_all
from hybridkg.query import ast
from hybridkg.query.parser import parse

E = "http://e/"
XSD = "http://www.w3.org/2001/XMLSchema#"
DATATYPES = ("integer", "int", "unsignedByte", "decimal", "double", "float", "gYear", "string", "boolean", "dateTime")
NUMBERS = (
    *("5", "+05", "5.0", "5.", "4.9999999999999999", "5.000000000000000001", "-5", "0", "-0", "0.1", "0.10000000149"),
    *(
        "0.1000000000000000055",
        "2018",
        "2018.5",
        "2017.9999999999999999",
        "16777216",
        "16777217",
        "16777219",
        "-16777217",
    ),
    *("9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("99999999999999999999", "170141183460469231731", "123456789012345678901234567890.5", "0.0000000000000000001"),
    *("1e3", "1E-300", "1e39", "3.4028235e38", "-1e39", "1e400", "INF", "-INF", "+INF", "NaN", "4.94e-324", "1e-45"),
    *("x", "", " 5", "5 ", "1_000", "true", "2018-01-01T00:00:00Z"),
)
lexical = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(["5", "2018", "0.1", "16777217", "INF"]),
    st.integers(2016, 2020).map(str),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    st.decimals(-(10**19), 10**19, allow_nan=False, allow_infinity=False).map(lambda d: f"{d:f}"),
)
literals = st.builds(lambda text, name: f'"{text}"^^<{XSD}{name}>', lexical, st.sampled_from(DATATYPES))
strings = st.sampled_from(['"5"', '"red"@en', '"red"@EN', '"a \\"b\\"\\n"', '"é\\u0007"'])
values = st.one_of(literals, literals, literals, strings, st.sampled_from([f"<{E}a>", f"<{E}é>", "_:x"]))
triples = st.tuples(st.sampled_from([f"<{E}a>", f"<{E}b>", "_:x"]), st.sampled_from("pq"), values)
graphs = st.lists(triples, max_size=10)
constants = st.one_of(literals, strings, st.sampled_from([f"<{E}a>", "5", "-5", "0.1", "1e3", "true"]))
limits = st.one_of(literals, literals, st.sampled_from(["5", "-5", "- 5", "-(-2018)", "2018", "0.1", "1e3"]))
comparisons = st.builds(
    lambda name, op, limit, turned: f"{limit} {op} ?{name}" if turned else f"?{name} {op} {limit}",
    st.sampled_from("nnm"),
    st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
    limits,
    st.booleans(),
)
filters = st.builds(
    lambda parts, glue: f"FILTER({glue.join(parts)})",
    st.lists(comparisons, min_size=1, max_size=3),
    st.sampled_from([" && ", " && ", " || "]),
)
leaf = st.one_of(
    st.builds(lambda p, c: f"?e <{E}{p}> {c} .", st.sampled_from("pq"), constants),
    st.builds(lambda p, n: f"?e <{E}{p}> ?{n} .", st.sampled_from("pq"), st.sampled_from("nnm")),
    st.builds(lambda p: f"?o <{E}{p}> ?e .", st.sampled_from("pq")),
    filters,
    filters,
    st.builds(lambda some: f"VALUES ?n {{ {' '.join(some)} }}", st.lists(constants | st.just("UNDEF"), max_size=3)),
)
wrapped = st.builds(
    lambda before, parts: before % " ".join(parts),
    st.sampled_from(
        [
            *("{ %s }", "OPTIONAL { %s }", "{ %s } UNION { ?e ?any ?thing }", "MINUS { %s }", "{ SELECT ?e { %s } }"),
            *("{ SELECT DISTINCT ?n { %s } }", "{ SELECT DISTINCT ?e { %s } }"),
            *("FILTER EXISTS { %s }", "FILTER NOT EXISTS { %s }", f"GRAPH <{E}g> {{ %s }}", "{ { %s } }"),
        ]
    ),
    st.lists(leaf, min_size=1, max_size=3),
)
united = st.builds(
    lambda *branches: " UNION ".join(f"{{ {' '.join(parts)} }}" for parts in branches),
    *[st.lists(leaf | wrapped, min_size=1, max_size=2)] * 2,
)
groups = st.lists(st.one_of(leaf, leaf, wrapped, united), min_size=1, max_size=5).map(" ".join)


def stored(graph: list[tuple[str, str, str]]) -> ox.Store:
    store = ox.Store()
    text = "".join(f"{s} <{E}{p}> {o} .\n" for s, p, o in graph)
    store.load(text.encode(), format=ox.RdfFormat.N_TRIPLES)
    store.load(text.encode(), format=ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(E + "g"))
    return store


def broken(store: ox.Store, pattern: str) -> list[tuple[str, PushdownCondition | AnyCondition]]:
    """Entities in solutions, with a condition that they do not satisfy."""
    found = conditions(parse(f"SELECT * {{ {pattern} }}").form.where, "e")
    entities = {row["e"] for row in store.query(f"SELECT ?e {{ {pattern} }}") if row["e"] is not None}
    return [
        (str(entity), condition)
        for entity in entities
        if not isinstance(entity, ox.Literal)
        for condition in found
        if not agrees(
            lambda iri, entity=entity: [
                str(q.object) for q in store.quads_for_pattern(entity, ox.NamedNode(iri), None, None)
            ],
            condition,
        )
    ]


@settings(max_examples=examples(18, 600), deadline=None)
@given(graphs, groups)
@example([(f"<{E}a>", "p", f'"16777217"^^<{XSD}integer>')], f'?e <{E}p> ?n FILTER(?n = "16777216"^^<{XSD}float>)')
@example([(f"<{E}a>", "p", f'"16777216"^^<{XSD}float>')], f"?e <{E}p> ?n FILTER(?n >= 16777217)")
@example([(f"<{E}a>", "p", f'"+07"^^<{XSD}int>')], f"?e <{E}p> 07")
def test_entities_in_solutions_satisfy_all_conditions(graph, pattern):
    assert broken(stored(graph), pattern) == []


@settings(max_examples=examples(27, 500), deadline=None)
@given(st.lists(literals, max_size=8), st.lists(comparisons.map(lambda text: text.replace("?m", "?n")), min_size=1))
def test_numbers_that_pass_a_filter_are_within_the_range(numbers, parts):
    graph = [(f"<{E}{i}>", "p", number) for i, number in enumerate(numbers)]
    assert broken(stored(graph), f"?e <{E}p> ?n FILTER({' && '.join(parts)})") == []


@settings(max_examples=examples(36, 300), deadline=None)
@given(constants, values)
def test_a_constant_is_the_text_of_the_term_that_the_store_has(constant, value):
    """And no other: equal terms have equal texts, different ones have not."""
    store = stored([(f"<{E}s>", "p", value)])
    (condition,) = conditions(parse(f"SELECT * {{ ?e <{E}p> {constant} }}").form.where, "e")
    held = str(next(iter(store)).object)
    matches = bool(store.query(f"ASK {{ ?e <{E}p> {constant} }}"))
    assert (condition.equals == held) == matches


parts_st = st.lists(st.tuples(st.sampled_from("pq"), st.one_of(constants, constants, st.just("?n"))), max_size=3)


@settings(max_examples=examples(48, 600), deadline=None)
@given(graphs, parts_st, st.none() | st.tuples(parts_st, parts_st))
@example([(f"<{E}a>", "p", f"<{E}a>"), (f"<{E}a>", "q", '"5"')], [("p", f"<{E}a>")], None)
@example([(f"<{E}a>", "p", f"<{E}a>"), (f"<{E}b>", "q", '"5"')], [], ([("p", f"<{E}a>")], [("q", '"5"')]))
def test_conditions_that_say_all_are_those_of_the_solutions(graph, parts, branches):
    def text(some):
        return " . ".join(f"?e <{E}{name}> {value}" for name, value in some)

    pattern = text(parts)
    if branches is not None:
        pattern += " ".join(["", f"{{ {text(branches[0])} }} UNION {{ {text(branches[1])} }}"])
    every = [parts, *branches] if branches is not None else [parts]
    where, store = parse(f"SELECT * {{ {pattern} }}").form.where, stored(graph)
    found = conditions(where, "e")
    is_all = say_all(where, "e", found)
    said = all(value != "?n" for some in every for _, value in some)
    assert is_all == (said and (bool(parts) if branches is None else all(branches)))
    if is_all:
        values: dict[str, dict[str, list[str]]] = {}
        for quad in store.quads_for_pattern(None, None, None, ox.DefaultGraph()):
            values.setdefault(str(quad.subject), {}).setdefault(quad.predicate.value, []).append(str(quad.object))
        agreeing = [
            e for e, own in values.items() if all(agrees(lambda iri, own=own: own.get(iri, []), c) for c in found)
        ]
        rows = [str(row["e"]) for row in store.query(f"SELECT ?e {{ {pattern} }}")]
        assert sorted(agreeing) == sorted(rows if branches is None else set(rows))


@pytest.mark.parametrize(
    "pattern",
    [
        "?e :p 5 OPTIONAL { ?e :q ?n }",
        "?e :p 5 FILTER(true)",
        "?e :p 5 . ?x :q 5",
        "?e :p+ 5",
        "{ ?e :p 5 } UNION {}",
        "",
    ],
)
def test_what_else_is_said_may_leave_out_more(pattern):
    where = parse(f"PREFIX : <{E}> SELECT * {{ {pattern} }}").form.where
    assert not say_all(where, "e", conditions(where, "e"))


def of(pattern: str) -> list[PushdownCondition | AnyCondition]:
    return list(conditions(parse(f"PREFIX : <{E}> SELECT * {{ {pattern} }}").form.where, "e"))


INTEGER = f"^^<{XSD}integer>"


def test_constants_and_ranges_are_found():
    assert of("?e :venue :emnlp ; :lang 'x'@EN , 'y' ; :year ?y . FILTER(?y >= 2018 && 2022 > ?y)") == [
        PushdownCondition(E + "venue", f"<{E}emnlp>"),
        PushdownCondition(E + "lang", '"x"@en'),
        PushdownCondition(E + "lang", '"y"'),
        PushdownCondition(E + "year", low=2018.0, high=2022.0),
    ]
    assert of("?e :year ?y , 02019 FILTER(?y = -5)") == [
        PushdownCondition(E + "year", low=-5.0, high=-5.0),
        PushdownCondition(E + "year", f'"2019"{INTEGER}'),
    ]
    assert of("{ ?e :year ?y } { { ?e :p :x } FILTER(?y > 5) } FILTER(?y > 7) FILTER(?y > 6)") == [
        PushdownCondition(E + "year", low=7.0),
        PushdownCondition(E + "p", f"<{E}x>"),
    ]


def test_branches_and_tables_of_constants_are_found():
    p, q, r = (PushdownCondition(E + name, f"<{E}x>") for name in "pqr")
    both = AnyCondition(((PushdownCondition(E + "p", f"<{E}x>"),), (PushdownCondition(E + "p", f"<{E}y>"),)))
    assert of("{ ?e :p :x } UNION { ?e :q :x ; :r :x ; :s ?o }") == [AnyCondition(((p,), (q, r)))]
    assert of("?e :p ?c . VALUES ?c { :x :y :x } ?e :q :x") == [both, q]
    assert of("{ ?e :p ?c } { VALUES (?d ?c) { (1 :x) (UNDEF :y) } }") == [both]


@pytest.mark.parametrize(
    "pattern",
    [
        "OPTIONAL { ?e :p :x }",
        "{ ?e :p :x } UNION { ?x :p :y }",
        "{ ?e :p :x } UNION { OPTIONAL { ?e :p :y } }",
        "{ ?e :p :x } UNION { { ?e :p :y } UNION { ?e :p :z } }",
        "?e :q ?y . { { SELECT DISTINCT ?x { ?e :p :x ; :r ?x } } UNION { ?e :p :y } }",
        "?e :p ?x VALUES ?x { :y UNDEF }",
        "?e :p ?x VALUES ?y { :y }",
        "?e :p ?x OPTIONAL { VALUES ?x { :y } }",
        "VALUES ?e { :y }",
        "?e :p ?x MINUS { ?e :p :x }",
        "GRAPH :g { ?e :p :x }",
        "{ SELECT ?e { ?e :p :x } }",
        "FILTER EXISTS { ?e :p :x }",
        "?e :p/:q :x",
        "?e ^:p :x",
        "?e ?p :x",
        "?x :p :x",
        ":x :p ?e",
        "?e :p _:b",
        "?e :p ?n FILTER(?n > 5 || ?n < 3)",
        "?e :p ?n FILTER(!(?n > 5))",
        "?e :p ?n FILTER(?n != 5)",
        "?e :p ?n FILTER(?n > 'x')",
        "?e :p ?n FILTER(?n > 'NaN'^^<http://www.w3.org/2001/XMLSchema#double>)",
        "?e :p ?n FILTER(?n > ?e)",
        "?e :p ?n FILTER(?n + 1 > 5)",
        "?e :p ?n FILTER(?other > 5)",
        "OPTIONAL { ?e :p ?n } FILTER(?n > 5)",
    ],
)
def test_what_is_not_certain_gives_no_condition(pattern):
    assert of(pattern) == []


def test_conditions_are_bounded_in_number():
    assert len(of(" ".join(f"?e :p {i} ." for i in range(500)))) == MAX_CONDITIONS
    table = "VALUES ?c { " + " ".join(map(str, range(MAX_CONDITIONS))) + " }"
    assert of("?e :q :x , ?c . " + table) == [PushdownCondition(E + "q", f"<{E}x>")]
    assert len(of("?e :q ?c . " + table)) == 1
    assert not of("?e :q ?c . " + table.replace("{ 0 ", "{ -1 0 "))
    assert len(of("?e :p ?n FILTER(" + " && ".join(f"?n > {i}" for i in range(150)) + ")")) == 1


@pytest.mark.parametrize(
    "pattern",
    [
        "{ SELECT DISTINCT ?y { ?e :year 2 ; :q ?y } }",
        "{ SELECT DISTINCT ?y { ?e :year 2 } }",
        "{ SELECT DISTINCT ?y { { ?e :p :x } UNION { ?e :p :y } } }",
        "{ SELECT DISTINCT ?e { ?e :year 2 } LIMIT 1 }",
        "{ SELECT DISTINCT ?e (COUNT(?x) AS ?n) { ?e :year 2 } GROUP BY ?e }",
    ],
)
def test_nothing_is_said_of_a_variable_that_a_sub_select_hides_or_cuts(pattern):
    where = parse(f"PREFIX : <{E}> SELECT * {{ {pattern} }}").form.where
    assert conditions(where, "e") == ()
    assert not say_all(where, "e", ())
    assert not say_all(where, "e", of("?e :year 2"))
    assert not say_all(where, "e", of("{ ?e :p :x } UNION { ?e :p :y }"))


@pytest.mark.parametrize("columns", ["?e", "?y ?e", "*"])
def test_a_sub_select_says_all_of_a_variable_that_it_shows(columns):
    where = parse(f"PREFIX : <{E}> SELECT * {{ {{ SELECT DISTINCT {columns} {{ ?e :year 2 }} }} }}").form.where
    found = conditions(where, "e")
    assert found == (PushdownCondition(E + "year", f'"2"{INTEGER}'),)
    assert say_all(where, "e", found)


MANY = 200
PATTERNS = {
    "alike": "?e :p ?c . ",
    "of predicates": "?e :p%d ?c . ",
    "of variables": "?e :p ?c%d . ",
    "of predicates and variables": "?e :p%d ?c%d . ",
}
TABLES = {
    "alike": f"VALUES ?c {{ {' '.join(map(str, range(60)))} }} ",
    "of one value": "VALUES ?c { %d } ",
    "different": f"VALUES ?c {{ %d {' '.join(map(str, range(1000, 1060)))} }} ",
    "beside variables": "VALUES (?c ?c%d) { (1 1) (2 2) (3 3) } ",
    "open": "VALUES ?c { %d UNDEF } ",
}


@pytest.mark.parametrize(
    ("tables", "patterns"),
    sampled(product(TABLES, PATTERNS), *zip(TABLES, [*PATTERNS, "of predicates and variables"], strict=True)),
)
def test_many_patterns_beside_many_tables_are_read_once(patterns, tables, monkeypatch):
    """What is counted: constants that are put as the store has them, and conditions that are made."""
    done = []
    stored = conditions_module.as_stored
    monkeypatch.setattr(conditions_module, "as_stored", lambda one: (done.append(one), stored(one))[1])
    monkeypatch.setattr(
        conditions_module,
        "PushdownCondition",
        lambda *given, **named: done.append(1) or PushdownCondition(*given, **named),
    )

    def many(text: str) -> str:
        return "".join(text.replace("%d", str(i)) for i in range(MANY))

    pattern = many(PATTERNS[patterns]) + many(TABLES[tables])
    where = parse(f"PREFIX : <{E}> SELECT * {{ {pattern} }}").form.where
    cells = sum(len(row) for part in where.elements if isinstance(part, ast.InlineData) for row in part.rows)
    found = conditions(where, "e")
    assert sum(len(leaves(one)) for one in found) <= MAX_CONDITIONS
    assert len(done) <= cells + 3 * MANY


def test_rows_that_fit_are_found_behind_those_that_do_not():
    table = "VALUES ?c { " + " ".join(map(str, range(MAX_CONDITIONS))) + " }"
    both = AnyCondition(tuple((PushdownCondition(E + "p", f"<{E}{name}>"),) for name in "xy"))
    assert of(f"?e :q :x ; :p ?c . {table} VALUES ?c {{ :x :y }}") == [PushdownCondition(E + "q", f"<{E}x>"), both]
