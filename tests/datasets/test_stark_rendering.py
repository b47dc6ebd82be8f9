"""STaRK's documents: a slow restatement of the table of rules on made-up nodes, and a worked document for each rule."""

from __future__ import annotations

import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.datasets.stark.layout import MAG_EDGES, MAG_NODES, NODES, StarkLayout
from hybridkg.datasets.stark.making import neighbours_in
from hybridkg.datasets.stark.node_documents import check_forms, documents_of
from hybridkg.datasets.stark.rendering import document
from hybridkg.entities.compact_text import compacted
from hybridkg.errors import LoadError, ParameterError

NODE_NAMES = {
    "amazon": {0: "product", 1: "brand", 2: "category", 3: "color"},
    "mag": MAG_NODES,
    "prime": dict(enumerate((
        "disease", "gene/protein", "molecular_function", "drug", "pathway", "anatomy", "effect/phenotype",
        "biological_process", "cellular_component", "exposure",
    ))),
}  # fmt: skip
EDGE_NAMES = {
    "amazon": dict(enumerate(("also_buy", "also_view", "has_brand", "has_category", "has_color"))),
    "mag": MAG_EDGES,
    "prime": {0: "ppi", 1: "off-label use", 2: "associated with"},
}
NUMBER = {kb: {name: number for number, name in names.items()} for kb, names in NODE_NAMES.items()}
NAN = float("nan")


def rendered(kb: str, nodes: list[tuple[str, dict]], edges: list[tuple[int, int, int]]) -> list[tuple[str, str]]:
    """(without relations, with relations) of each node, by the whole way from the pickle to the lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NODES
        path.write_bytes(pickle.dumps({i: attributes for i, (_, attributes) in enumerate(nodes)}))
        rows = np.array(edges, np.int64).reshape(-1, 3).T
        types = np.array([NUMBER[kb][type] for type, _ in nodes], np.int64)
        layout = StarkLayout(kb, {NODES: path}, NODE_NAMES[kb], EDGE_NAMES[kb], types, rows[:2], rows[2])
        lines = list(documents_of(layout, ("plain", "relations"), neighbours_in(layout), Path(folder)))
    found = [json.loads(line) for line in lines]
    assert [one["id"] for one in found] == [f"https://w3id.org/hybridkg/stark/{kb}/{i}" for i in range(len(nodes))]
    return [(one["document"], one["document_rel"]) for one in found]


# --- the slow restatement: section 3 of the specification, line by line ---------------------------


def N(edges, i, r):
    """The neighbours of i by r, as section 2 has them."""
    pairs = sorted((a, b) for a, b, _ in edges)
    if pairs == sorted((b, a) for a, b in pairs):
        return sorted({b for a, b, t in edges if a == i and t == r})
    near = {b for a, b, _ in edges if a == i} | {a for a, b, _ in edges if b == i}
    kept = []
    for j in near:
        numbers = [t for a, b, t in edges if (a, b) == (i, j)] + [t for a, b, t in edges if (b, a) == (i, j)]
        if sum(numbers) // len(numbers) == r:
            kept.append(j)
    return sorted(kept)


def slow(kb, nodes, edges, i):
    type, a = nodes[i]
    plain = {"amazon": slow_amazon, "mag": slow_mag, "prime": slow_prime}[kb](type, a)
    return plain, plain + {"amazon": slow_bought, "mag": slow_cited, "prime": slow_linked}[kb](nodes, edges, i)


def slow_amazon(type, a):
    if type != "product":
        return type + " name: " + a[type + "_name"]
    s = "- product: " + str(a["title"]) + "\n"
    if "brand" in a:
        s += "- brand: " + a["brand"] + "\n"
    try:
        d, w = a["details"]["product_dimensions"].split(" ; ")
        s += "- dimensions: " + d + "\n" + "- weight: " + w + "\n"
    except (KeyError, TypeError, ValueError):
        pass
    description = " ".join(a["description"]).strip(" ")
    if description:
        s += "- description: " + description + "\n"
    if a["feature"]:
        s += "- features: \n"
        for i in range(len(a["feature"])):
            f = a["feature"][i]
            if f != "" and "asin" not in f.lower():
                s += "#" + str(i + 1) + ": " + f + "\n"
    if a["review"]:
        s += "- reviews: \n"
        counted = []
        for j, r in enumerate(a["review"]):
            vote = r["vote"]
            counted.append((0 if vote is None or vote != vote else int(vote.replace(",", "")), j))
        for _, j in sorted(counted, key=lambda c: (-c[0], c[1]))[:27]:
            r = a["review"][j]
            s += f"#{j + 1}:\nsummary: {r['summary']}\n" + f'text: "{r["reviewText"]}"\n'
    if a["qa"]:
        s += "- Q&A: \n"
        for i, q in enumerate(a["qa"]):
            if i < 27:
                s += f"#{i + 1}:\n" + f'question: "{q["question"]}"\nanswer: "{q["answer"]}"\n'
    return s


def slow_bought(nodes, edges, i):
    if nodes[i][0] != "product":
        return ""
    s = ""
    for words, r in (("purchased", 0), ("viewed", 1)):
        for place, j in enumerate(N(edges, i, r)):
            if place == 0:
                s += f"  products also {words}: \n"
            named = nodes[j][1]
            s += f"#{place + 1}: {named['title'] if 'title' in named else named[nodes[j][0] + '_name']}\n"
    if N(edges, i, 2):
        j = N(edges, i, 2)[0]
        named = nodes[j][1]
        s += f"  brand: {named['title'] if 'title' in named else named[nodes[j][0] + '_name']}\n"
    return "- relations:\n" + s if s else ""


def slow_mag(type, a):
    if type == "paper":
        s = f" - paper title: {a['title']}\n"
        abstract = a["abstract"].replace("\r", "")
        while abstract.endswith("\n"):
            abstract = abstract[:-1]
        s += f" - abstract: {abstract}\n"
        if str(a["Date"]) != "-1":
            s += f" - publication date: {a['Date']}\n"
        if str(a["OriginalVenue"]) != "-1":
            return s + f" - venue: {a['OriginalVenue']}\n"
        if str(a["JournalDisplayName"]) != "-1":
            return s + f" - journal: {a['JournalDisplayName']}\n"
        for key in ("ConferenceSeriesDisplayName", "ConferenceInstancesDisplayName"):
            if str(a[key]) != "-1":
                return s + f" - conference: {a[key]}\n"
        return s
    if type == "author":
        s, word = f"- author name: {a['DisplayName']}\n", "author"
    elif type == "field_of_study":
        s, word = f" - field of study: {a['DisplayName']}\n", "field"
    else:
        s, word = f" - institution: {a['DisplayName']}\n", "institution"
    if a["PaperCount"] != -1:
        s += f"- {word} paper count: {a['PaperCount']}\n"
    if a["CitationCount"] != -1:
        s += f"- {word} citation count: {a['CitationCount']}\n"
    return s.replace("-1", "Unknown")


def slow_cited(nodes, edges, i):
    if nodes[i][0] != "paper":
        return ""
    s = ""
    for r in (0, 1, 2, 3):
        names = []
        for j in N(edges, i, r):
            type, a = nodes[j]
            if type == "paper":
                names.append('"' + str(a["title"]) + '"')
            elif str(a["DisplayName"]) == "-1":
                continue
            elif type == "author":
                places = [str(nodes[k][1].get("DisplayName", nodes[k][1].get("title"))) for k in N(edges, j, 0)]
                places = [place for place in places if place != "-1"]
                names.append(str(a["DisplayName"]) + (f" ({', '.join(places)})" if places else ""))
            else:
                names.append(str(a["DisplayName"]))
        if N(edges, i, r):
            s += f"\n{MAG_EDGES[r].replace('___', ' ')}: ({', '.join(names)}),"
    return "- relations:\n" + s if s else ""


def clean(a):
    kept = {}
    for key in a:
        if isinstance(a[key], dict):
            kept[key] = clean(a[key])
        elif str(a[key]) != "" and str(a[key]) != "nan":
            kept[key] = a[key]
    return kept


def slow_prime(type, a):
    a = clean(a)
    s = f"- name: {a['name']}\n- type: {type}\n- source: {a['source']}\n"
    lines = ""
    for key, value in a.get("details", {}).items():
        if key[0:1] == "_" or "_id" in key:
            continue
        shown, gloss = value, ""
        if type == "gene/protein":
            if key == "name":
                gloss = "gene name"
            elif key == "type_of_gene":
                gloss = "gene types"
            elif key == "alias":
                gloss = "other gene names"
            elif key == "other_names":
                gloss = "extended other gene names"
            elif key == "genomic_pos":
                gloss, shown = "genomic position", value[0] if type_is_list(value) else value
            elif key == "generif":
                gloss = "PubMed text"
                shown = " ".join("; ".join(one["text"] for one in value).split(" ")[:50000])
            elif key == "interpro":
                gloss = "protein family and classification information"
                shown = [one["desc"] for one in (value if type_is_list(value) else [value])]
            elif key == "summary":
                gloss = "protein summary text"
        lines += f"  - {key} ({gloss}): {shown}\n" if gloss else f"  - {key}: {shown}\n"
    return s + ("- details:\n" + lines if lines else "")


def type_is_list(value):
    return isinstance(value, list)


def slow_linked(nodes, edges, i):
    s = ""
    for r, words in EDGE_NAMES["prime"].items():
        near = N(edges, i, r)
        if near:
            s += "\n  " + words.replace(" ", "_") + ": {"
            for t in set([NUMBER["prime"][nodes[j][0]] for j in near]):  # noqa: C403 - the set of a list, as there
                names = [clean(nodes[j][1])["name"] for j in near if NUMBER["prime"][nodes[j][0]] == t]
                s += NODE_NAMES["prime"][t] + ": (" + ", ".join(names) + "),"
            s += "}"
    return "- relations:\n" + s if s else ""


# --- made-up nodes ---------------------------------------------------------------------------------

text = st.text(st.sampled_from(list("ab -1.;:\n\r\t'\"é—")), max_size=12)
word = st.sampled_from(["Tent", "nan", "-1", "a-1 b", "", "ASIN x", " two  words ", "5 ; 6", "1 ; 2 ; 3"])
value = text | word
review = st.fixed_dictionaries({
    "summary": value | st.just(NAN), "reviewText": value, "vote": st.sampled_from([NAN, None, "2", "1,204", "7"]),
})  # fmt: skip
question = st.fixed_dictionaries({"question": value, "answer": value})
product = st.fixed_dictionaries(
    {
        "title": value, "feature": st.lists(value, max_size=4), "description": st.lists(value, max_size=3),
        "review": st.lists(review, max_size=3) | st.lists(review, min_size=26, max_size=30),
        "qa": st.lists(question, max_size=2) | st.lists(question, min_size=26, max_size=29),
        "details": st.sampled_from([{}, "", {"product_dimensions": "2 ; 3"}, {"product_dimensions": "2 ; 3 ; 4"}]),
    },
    optional={"brand": word},
)  # fmt: skip
named = st.sampled_from(["brand", "category", "color"]).flatmap(
    lambda kind: st.tuples(st.just(kind), st.fixed_dictionaries({f"{kind}_name": value}))
)
maybe = st.just(-1) | value
count = st.sampled_from([-1, 0, 3, 211, -1.0, 4.0, "-1"])
paper = st.fixed_dictionaries({
    "title": value, "abstract": value, "Date": maybe, "OriginalVenue": maybe, "JournalDisplayName": maybe,
    "ConferenceSeriesDisplayName": maybe, "ConferenceInstancesDisplayName": maybe,
})  # fmt: skip
counted = st.fixed_dictionaries({"DisplayName": maybe, "PaperCount": count, "CitationCount": count})
leaf = value | st.just(NAN) | st.integers(-3, 3)
tree = st.recursive(leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3))
details = st.dictionaries(
    st.sampled_from(["mass", "_id", "mondo_id", "x_identity", "name", "summary", "interpro_x", "genomic", ""]), tree
)
known = value.filter(lambda text: text not in ("", "nan"))
gene_details = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("name", "type_of_gene", "alias", "other_names", "summary", "query", "_score"), tree),
        # A family alone without a description has no document in STaRK, whose code fails then.
        "interpro": st.fixed_dictionaries({"desc": known}) | st.lists(st.fixed_dictionaries({"desc": value})),
        "generif": st.lists(st.fixed_dictionaries({"text": value}), min_size=1),
        "genomic_pos": st.dictionaries(word, leaf) | st.lists(tree, min_size=1),
    },
)  # fmt: skip
NODES_OF = {
    "amazon": st.tuples(st.just("product"), product) | named,
    "mag": st.tuples(st.just("paper"), paper)
    | st.tuples(st.sampled_from(["author", "institution", "field_of_study"]), counted),
    "prime": st.sampled_from(sorted(NUMBER["prime"])).flatmap(
        lambda kind: st.tuples(
            st.just(kind),
            st.fixed_dictionaries(
                {"name": st.sampled_from(["P", "Q-1", "R s"]), "source": st.just("NCBI")},
                optional={"details": gene_details if kind == "gene/protein" else details},
            ),
        )
    ),
}


@st.composite
def knowledge_bases(draw, kb: str):
    nodes = draw(st.lists(NODES_OF[kb], min_size=1, max_size=7))
    node = st.integers(0, len(nodes) - 1)
    edges = draw(st.lists(st.tuples(node, node, st.sampled_from(sorted(EDGE_NAMES[kb]))), max_size=14))
    if kb == "prime" or draw(st.booleans()):
        edges = edges + [(b, a, r) for a, b, r in edges]
    return nodes, edges


@pytest.mark.parametrize("kb", sorted(NODES_OF))
def test_documents_are_those_of_the_restatement(kb):
    @settings(max_examples=examples(12, 1500), deadline=None)
    @given(knowledge_bases(kb))
    def check(made):
        nodes, edges = made
        assert rendered(kb, nodes, edges) == [slow(kb, nodes, edges, i) for i in range(len(nodes))]

    check()


# --- worked by hand: one document for each rule --------------------------------------------------------


def one(kb: str, type: str, attributes: dict) -> str:
    return document(kb, type, attributes)


def test_a_product_of_every_line():
    tent = {
        "title": "Tent", "brand": "Coleman", "details": {"product_dimensions": "2 x 3 inches ; 4 ounces"},
        "description": [" For", "two. "], "feature": ["Dry", "", "ASIN: B0", "Light"],
        "review": [
            {"summary": "ok", "reviewText": "Fine.", "vote": NAN}, {"summary": NAN, "reviewText": "x", "vote": "3"},
        ],
        "qa": [{"question": "Wet?", "answer": "No."}],
    }  # fmt: skip
    assert one("amazon", "product", tent) == (
        "- product: Tent\n- brand: Coleman\n- dimensions: 2 x 3 inches\n- weight: 4 ounces\n"
        "- description: For two.\n- features: \n#1: Dry\n#4: Light\n"
        '- reviews: \n#2:\nsummary: nan\ntext: "x"\n#1:\nsummary: ok\ntext: "Fine."\n'
        '- Q&A: \n#1:\nquestion: "Wet?"\nanswer: "No."\n'
    )


def test_a_product_without_anything_has_its_title_only():
    for empty in ({}, {"feature": [], "review": [], "qa": [], "description": [], "details": {}}):
        assert one("amazon", "product", {"title": "T", **empty}) == "- product: T\n"
    assert one("amazon", "product", {"title": "T", "description": [" "]}) == "- product: T\n"


def test_the_heading_of_features_stays_where_all_hold_asin():
    features = ["ASIN: B000", "see asin"]
    assert one("amazon", "product", {"title": "T", "feature": features}) == "- product: T\n- features: \n"


def test_dimensions_have_exactly_two_parts():
    for size in ("2 x 3 inches", "1 ; 2 ; 3", 7, None):
        assert one("amazon", "product", {"title": "T", "details": {"product_dimensions": size}}) == "- product: T\n"


def test_27_reviews_by_votes_with_their_own_numbers():
    votes = ["1,204", *[NAN] * 28, "2"]
    reviews = [{"summary": f"s{i}", "reviewText": "r", "vote": vote} for i, vote in enumerate(votes, 1)]
    text = one("amazon", "product", {"title": "T", "review": reviews})
    shown = [int(line[1:-1]) for line in text.split("\n") if line.startswith("#")]
    assert shown == [1, 30, *range(2, 27)]  # 1,204 votes, 2 votes, then 25 without any in their order: 27


def test_27_questions_in_their_order():
    text = one("amazon", "product", {"title": "T", "qa": [{"question": "q", "answer": "a"}] * 40})
    assert [line for line in text.split("\n") if line.startswith("#")] == [f"#{i}:" for i in range(1, 28)]


def test_a_name_of_amazon_has_no_line_end():
    assert one("amazon", "brand", {"brand_name": "A  B"}) == "brand name: A  B"
    assert one("amazon", "category", {"category_name": "tents"}) == "category name: tents"
    assert one("amazon", "color", {"color_name": "red"}) == "color name: red"


PAPER = {
    "title": "On -1", "abstract": "Two\r\nlines.\n\n", "Date": "2010-05-01", "OriginalVenue": "V",
    "JournalDisplayName": "J", "ConferenceSeriesDisplayName": "S", "ConferenceInstancesDisplayName": "I",
}  # fmt: skip


def test_a_paper():
    assert one("mag", "paper", PAPER) == (
        " - paper title: On -1\n - abstract: Two\nlines.\n - publication date: 2010-05-01\n - venue: V\n"
    )
    unknown = {"title": "T", "abstract": "", "Date": -1}
    assert one("mag", "paper", unknown) == " - paper title: T\n - abstract: \n"


def test_the_venue_is_the_first_known_of_venue_journal_series_and_instance():
    lines = []
    paper = dict(PAPER)
    for name in (
        "OriginalVenue",
        "JournalDisplayName",
        "ConferenceSeriesDisplayName",
        "ConferenceInstancesDisplayName",
    ):
        lines.append(one("mag", "paper", paper).split("\n")[-2])
        paper[name] = -1 if len(lines) % 2 else "-1"
    assert lines == [" - venue: V", " - journal: J", " - conference: S", " - conference: I"]
    assert one("mag", "paper", paper).endswith("date: 2010-05-01\n")


def test_minus_one_is_unknown_also_inside_of_names():
    author = {"DisplayName": "A-1", "PaperCount": 12, "CitationCount": -1}
    assert one("mag", "author", author) == "- author name: AUnknown\n- author paper count: 12\n"
    field = {"DisplayName": -1, "PaperCount": -1, "CitationCount": 3}
    assert one("mag", "field_of_study", field) == " - field of study: Unknown\n- field citation count: 3\n"
    # The text "-1" is not the number, so its line stays.
    institution = {"DisplayName": "MIT", "PaperCount": "-1", "CitationCount": -1.0}
    assert one("mag", "institution", institution) == " - institution: MIT\n- institution paper count: Unknown\n"


def test_a_node_of_prime_without_details():
    for more in ({}, {"details": {}}, {"details": {"_id": 3, "mondo_id": 4, "x": "nan", "y": "", "z": NAN}}):
        text = one("prime", "disease", {"name": "D", "source": "MONDO", **more})
        assert text == "- name: D\n- type: disease\n- source: MONDO\n"


def test_nan_goes_in_dictionaries_at_any_depth_and_stays_in_lists():
    details = {"a": {"b": {"c": "nan", "d": 1}, "e": ""}, "f": ["nan", ""], "g": {"h": "nan"}, "i": "nan nan"}
    assert one("prime", "drug", {"name": "D", "source": "S", "details": details}) == (
        "- name: D\n- type: drug\n- source: S\n- details:\n"
        "  - a: {'b': {'d': 1}}\n  - f: ['nan', '']\n  - g: {}\n  - i: nan nan\n"
    )


def test_keys_with_an_id_and_those_that_begin_with_a_line_go():
    details = {"_score": 1, "umls_id": 2, "x_identity": 3, "identity": 4, "a_": 5}
    text = one("prime", "drug", {"name": "D", "source": "S", "details": details})
    assert text.split("- details:\n")[1] == "  - identity: 4\n  - a_: 5\n"


def test_the_details_of_a_gene_have_glosses():
    details = {
        "query": "TP53", "name": "tumor protein", "type_of_gene": "protein-coding", "alias": ["P53", "LFS1"],
        "other_names": "antigen", "genomic_pos": [{"chr": "17", "start": 5}, {"chr": "18"}],
        "generif": [{"pubmed": 1, "text": "One."}, {"pubmed": 2, "text": "Two."}],
        "interpro": [{"id": "I", "desc": "Kinase"}, {"id": "J", "desc": "Fold"}], "summary": "It's short.",
    }  # fmt: skip
    assert one("prime", "gene/protein", {"name": "TP53", "source": "NCBI", "details": details}) == (
        "- name: TP53\n- type: gene/protein\n- source: NCBI\n- details:\n"
        "  - query: TP53\n"
        "  - name (gene name): tumor protein\n"
        "  - type_of_gene (gene types): protein-coding\n"
        "  - alias (other gene names): ['P53', 'LFS1']\n"
        "  - other_names (extended other gene names): antigen\n"
        "  - genomic_pos (genomic position): {'chr': '17', 'start': 5}\n"
        "  - generif (PubMed text): One.; Two.\n"
        "  - interpro (protein family and classification information): ['Kinase', 'Fold']\n"
        "  - summary (protein summary text): It's short.\n"
    )
    alone = {"interpro": {"id": "I", "desc": "Kinase"}, "genomic_pos": {"chr": "7", "end": "nan"}}
    assert one("prime", "gene/protein", {"name": "G", "source": "NCBI", "details": alone}).endswith(
        "  - interpro (protein family and classification information): ['Kinase']\n"
        "  - genomic_pos (genomic position): {'chr': '7'}\n"
    )
    unknown = {"name": "G", "source": "NCBI", "details": {"interpro": {"desc": "nan"}}}
    assert one("prime", "gene/protein", unknown).endswith("classification information): []\n")
    assert "  - alias: X\n" in one("prime", "drug", {"name": "D", "source": "S", "details": {"alias": "X"}})


def test_the_pubmed_text_has_50000_words():
    # Two blanks in a row are three words, of which one is empty.
    generif = [{"text": "a  b"}, {"text": "c " * 49_997 + "last over"}]
    text = one("prime", "gene/protein", {"name": "G", "source": "S", "details": {"generif": generif}})
    shown = text.removesuffix("\n").split("(PubMed text): ")[1]
    assert shown.startswith("a  b; c c")
    assert len(shown.split(" ")) == 50_000
    assert shown.endswith(" c c last") is False
    assert shown.endswith(" c c")


def test_a_type_without_a_document_is_refused():
    with pytest.raises(LoadError, match="no document for a node of the type 'shop'"):
        document("amazon", "shop", {})
    with pytest.raises(LoadError, match="no document for a node of the type 'venue'"):
        document("mag", "venue", {})


# --- relations, worked by hand ------------------------------------------------------------------------


def test_relations_of_a_product():
    nodes = [("product", {"title": title}) for title in ("Tent", "Rope", "Lamp")]
    nodes += [("brand", {"brand_name": "B"}), ("brand", {"brand_name": "C"}), ("color", {"color_name": "red"})]
    # Tent and Rope are bought and viewed together, hence bought; Lamp leads to Tent; the first brand; no color.
    edges = [(0, 1, 0), (0, 1, 1), (2, 0, 1), (0, 4, 2), (0, 3, 2), (0, 5, 4)]
    plain, related = rendered("amazon", nodes, edges)[0]
    assert plain == "- product: Tent\n"
    assert related == (
        "- product: Tent\n- relations:\n  products also purchased: \n#1: Rope\n  products also viewed: \n#1: Lamp\n"
        "  brand: B\n"
    )
    assert rendered("amazon", nodes, edges)[3] == ("brand name: B", "brand name: B")
    assert rendered("amazon", nodes, [(0, 5, 4)])[0] == ("- product: Tent\n", "- product: Tent\n")


def test_relations_of_a_paper():
    authors = [("author", {"DisplayName": name}) for name in ("Ann", "Bob", -1)]
    places = [("institution", {"DisplayName": name}) for name in ("MIT", "ETH", -1)]
    fields = [("field_of_study", {"DisplayName": "Optics"}), ("field_of_study", {"DisplayName": -1})]
    papers = [("paper", {**PAPER, "title": title}) for title in ("P", "Q")]
    nodes = [*authors, *places, *fields, *papers]  # 0-2, 3-5, 6-7, 8-9
    edges = [(0, 4, 0), (0, 3, 0), (1, 5, 0), (9, 8, 1), (8, 7, 2), (8, 6, 2), (0, 8, 3), (1, 8, 3), (2, 8, 3)]
    found = rendered("mag", nodes, edges)
    assert found[8][1].removeprefix(found[8][0]) == (
        '- relations:\n\npaper cites paper: ("Q"),\npaper has_topic field_of_study: (Optics),'
        "\nauthor writes paper: (Ann (MIT, ETH), Bob),"
    )
    assert found[0][1] == found[0][0]  # an author has no relations in the document
    # A relation to nodes without a name only has no names.
    assert rendered("mag", nodes, [(8, 7, 2)])[8][1].endswith("- relations:\n\npaper has_topic field_of_study: (),")


def test_relations_of_prime_have_types_in_the_order_of_cpythons_sets():
    nodes = [("drug", {"name": "D", "source": "S"})]
    nodes += [(type, {"name": name, "source": "S"}) for type, name in (
        ("gene/protein", "G"), ("cellular_component", "C"), ("gene/protein", "H"), ("exposure", "X"),
    )]  # fmt: skip
    edges = [(0, i, 1) for i in (1, 2, 3)] + [(0, 4, 2), (0, 1, 2)]
    edges += [(b, a, r) for a, b, r in edges]
    # The numbers 1 and 8 are in the places 1 and 0 of a table of 8; 1 and 9 both want the place 1.
    assert rendered("prime", nodes, edges)[0][1] == (
        "- name: D\n- type: drug\n- source: S\n- relations:\n"
        "\n  off-label_use: {cellular_component: (C),gene/protein: (G, H),}"
        "\n  associated_with: {gene/protein: (G),exposure: (X),}"
    )


# --- the compact form ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- name: D\n- type: drug\n", "name: D. type: drug. "),
        ("- details:\n  - a: b\n", "details: a: b. "),
        ("- features: \n#1: Dry\n", "features: #1: Dry. "),
        ("two.\nnext", "two. next"),
        ("a  b\n\t c", "a b. c"),
        ("one\ttab\n", "one\ttab. "),
        ("pre- and post-war\n", "preand post-war. "),
        ("a...\nb", "a... b"),
        ("x\r\n", "x. "),
        ("brand name: A- B", "brand name: A- B"),
    ],
)
def test_compact_texts_worked_by_hand(text, wanted):
    assert compacted(text) == wanted


def test_forms():
    assert check_forms(["relations"]) == ("relations",)
    with pytest.raises(
        ParameterError, match="no form of documents 'relation'; known: plain, candidates, relations"
    ) as e:
        check_forms(["plain", "relation"])
    assert e.value.hint == "did you mean 'relations'?"
