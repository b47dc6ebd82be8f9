"""Real data in STaRK's form: the files are those of pickle and of the ordinary reader; sources keep their meaning."""

from __future__ import annotations

import io
import json
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest

from benchmarks.record import RESULTS
from benchmarks.stark_data.__main__ import DATA, write_data
from benchmarks.stark_data.acl import MIN_DF, fields, phrases, write_acl
from benchmarks.stark_data.attack import plain, write_attack
from benchmarks.stark_data.hetionet import gene_details, obo_terms
from benchmarks.stark_data.report import data_table, stored, synthesis_table, type_lists
from benchmarks.stark_data.skb_files import BATCH, SkbWriter
from benchmarks.stark_walks import Arrays
from hybridkg.datasets.stark.layout import MAG_EDGES, MAG_NODES, StarkLayout, find_files, read_layout

STORED = json.loads((RESULTS / "stark_data.json").read_text())["data"]


def read(folder: Path) -> tuple[StarkLayout, dict]:
    layout = read_layout(find_files(folder / "skb", folder))
    return layout, dict(layout.nodes())


def test_the_files_are_those_of_pickle_and_of_the_ordinary_reader(tmp_path):
    skb = SkbWriter(tmp_path, "mag", tuple(MAG_NODES.values()), tuple(MAG_EDGES.values()))
    wanted = {}
    last = skb.number("paper")
    for i in range(2 * BATCH + 3):
        values = {"title": f"t{i}" * (i % 300), "n": [i, -1, 2.5, None, True, {"a": "ü\n"}], "name": np.str_("same")}
        wanted[skb.node("paper", values)] = values
    wanted[last] = {}
    skb.attributes(last, {})
    skb.edge(1, 2, MAG_EDGES[1])
    skb.edge(3, 4, MAG_EDGES[3], both=True)
    skb.edges(np.array([5, 6]), np.array([7, 8]), MAG_EDGES[0])
    skb.close()
    loaded = pickle.loads((skb.folder / "node_info.pkl").read_bytes())  # noqa: S301 - made above
    layout, nodes = read(tmp_path)
    assert loaded == wanted
    assert nodes == {number: json.loads(json.dumps(values)) for number, values in wanted.items()}
    assert layout.edges.tolist() == [[1, 3, 4, 5, 6, 7, 8], [2, 4, 3, 7, 8, 5, 6]]
    assert layout.edge_types.tolist() == [1, 3, 3, 0, 0, 0, 0]
    assert set(layout.node_types.tolist()) == {3}


def test_a_node_without_attributes_is_an_error(tmp_path):
    skb = SkbWriter(tmp_path, "mag", tuple(MAG_NODES.values()), tuple(MAG_EDGES.values()))
    skb.number("paper")
    with pytest.raises(ValueError, match="1 nodes, and attributes of 0"):
        skb.close()


def test_phrases_of_titles_are_fields_of_study():
    assert list(phrases("Parsing with Trees, and Tree Kernels")) == ["parsing with trees", "tree kernels"]
    titles = ["Neural Machine Translation"] * 30 + ["Machine Translation"] * 30 + ["Neural Parsing"] * (MIN_DF - 1)
    # "neural machine" has the titles of the longer phrase, "neural parsing" has too few
    assert fields(titles) == {"machine translation": 60, "neural machine translation": 30}


XML = """<collection id="2020.x"><volume id="1"><meta><booktitle>V</booktitle><year>2020</year></meta>
<paper id="1"><title>Tree <i>Kernels</i></title>
<author><first>A</first><last>B</last><affiliation>U</affiliation></author>
<author><first>C</first><last>D</last></author><abstract>On trees.</abstract>
<pwcdataset url="https://x/d">GLUE</pwcdataset>
</paper><paper id="2"><title>Other</title><author><first>A</first><last>B</last><affiliation>U</affiliation></author>
<author><first>A</first><last>B</last></author></paper></volume></collection>"""


def test_a_paper_of_the_anthology(tmp_path):
    (tmp_path / "acl" / "xml").mkdir(parents=True)
    (tmp_path / "acl" / "xml" / "2020.x.xml").write_text(XML)
    write_acl(tmp_path / "acl", tmp_path / "out")
    layout, nodes = read(tmp_path / "out")
    names = {number: about.get("title", about.get("DisplayName")) for number, about in nodes.items()}
    edges = {
        (names[head], layout.edge_names[kind], names[tail])
        for head, tail, kind in zip(*layout.edges.tolist(), layout.edge_types.tolist(), strict=True)
    }
    assert edges == {
        ("A B", MAG_EDGES[0], "U"), ("A B", MAG_EDGES[3], "Tree Kernels"), ("C D", MAG_EDGES[3], "Tree Kernels"),
        ("Tree Kernels", MAG_EDGES[2], "GLUE"), ("A B", MAG_EDGES[3], "Other"),
    }  # fmt: skip
    assert len(edges) == len(layout.edge_types)
    paper = next(about for about in nodes.values() if about.get("title") == "Tree Kernels")
    assert (paper["abstract"], paper["Date"], paper["JournalDisplayName"]) == ("On trees.", "2020", -1)
    assert next(about for about in nodes.values() if about.get("DisplayName") == "A B")["PaperCount"] == 2


def test_a_technique_of_attack(tmp_path):
    def stix(kind: str, id_: str, **more: object) -> dict:
        return {"type": kind, "id": id_, "name": id_, "external_references": [{"external_id": "X"}] * 2, **more}

    def link(kind: str, head: str, tail: str, text: str) -> dict:
        ends = {"source_ref": head, "target_ref": tail}
        return stix("relationship", f"{head}{tail}", relationship_type=kind, description=text, **ends)

    phases = [{"phase_name": "impact"}]
    objects = [
        stix("attack-pattern", "T1", description="One.\n\nTwo.", kill_chain_phases=phases, x_mitre_platforms=["Linux"]),
        stix("attack-pattern", "T2", revoked=True), stix("malware", "M1"), stix("intrusion-set", "G1"),
        stix("x-mitre-tactic", "Impact", x_mitre_shortname="impact"), stix("course-of-action", "C1"),
        link("uses", "G1", "T1", "[G1](http://g) used it.(Citation: A)"), link("uses", "M1", "T1", "M1 does."),
        link("uses", "M1", "T2", "gone"), link("mitigates", "C1", "T1", "Patch."),
    ]  # fmt: skip
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as archive:
        for one in objects:
            data = json.dumps(one).encode()
            info = tarfile.TarInfo(f"x/{one['id']}.json")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    write_attack(tmp_path / "a.tar.xz", tmp_path / "out")
    layout, nodes = read(tmp_path / "out")
    assert nodes[0]["description"] == ["One.", "Two."]
    assert nodes[0]["review"] == [
        {"summary": "G1", "reviewText": "G1 used it.", "vote": "2"},
        {"summary": "M1", "reviewText": "M1 does.", "vote": "2"},
    ]
    assert nodes[0]["qa"] == [{"question": "Does C1 help against it?", "answer": "Patch."}]
    kinds = [layout.node_names[number] for number in layout.node_types.tolist()]
    assert kinds == ["product", "product", "brand", "category", "color"]
    named = [layout.edge_names[number] for number in layout.edge_types.tolist()]
    edges = sorted(zip(named, *layout.edges.tolist(), strict=True))
    assert edges == [("also_buy", 1, 0), ("has_brand", 0, 2), ("has_category", 0, 3), ("has_color", 0, 4)]


def test_small_readers():
    assert plain("[Net](https://x/S0039) lists <code>net use</code>.(Citation: Savill 1999)") == "Net lists net use."
    terms = "format-version: 1.2\n\n[Term]\nid: D:1\nis_a: D:2 ! x\nis_a: D:3\n\n[Typedef]\nid: y\n"
    assert list(obo_terms(terms)) == [{"id": ["D:1"], "is_a": ["D:2 ! x", "D:3"]}]
    row = [
        "9606",
        "1",
        "A1BG",
        "-",
        "A1B|ABG",
        "x",
        "19",
        "19q13.4",
        "glycoprotein",
        "protein-coding",
        "",
        "",
        "O",
        "-",
    ]
    assert gene_details(row) == {
        "query": "A1BG", "name": "glycoprotein", "type_of_gene": "protein-coding", "alias": ["A1B", "ABG"],
        "genomic_pos": {"chr": "19", "map_location": "19q13.4"},
    }  # fmt: skip


@pytest.mark.needs_shared
@pytest.mark.parametrize("name", ["cacm", pytest.param("attack", marks=pytest.mark.exhaustive)])
def test_the_same_source_and_seed_give_the_same_bytes_and_the_stored_counts(shared_data, tmp_path, name):
    counts = [write_data(name, shared_data, tmp_path / part, seed=1) for part in ("one", "two")]
    assert {key: STORED[name][key] for key in counts[0]} == counts[0] == counts[1]
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) >= 8
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file
    layout, _ = read(tmp_path / "one")
    arrays = Arrays(layout)
    assert all(arrays.count(template) == found for template, found in counts[0]["templates"].items())


def test_stored_answers_are_those_of_walks():
    assert list(STORED) == list(DATA)
    for name, found in STORED.items():
        assert found["walks"]["equal"] == found["walks"]["compared"] > 0, name


def test_the_templates_that_the_data_do_not_express_are_known():
    assert {name: found["not_expressed"] for name, found in STORED.items()} == {
        "attack": [],
        "cacm": ["mag-4", "mag-7"],
        "acl": ["mag-2"],
        "hetionet": [f"prime-{number}" for number in (1, 2, 12, 13, 16, 18, 25, 26)],
    }


def test_the_tables_of_the_documentation_are_those_of_the_stored_results():
    text = " ".join((Path(__file__).resolve().parents[2] / "docs" / "evaluation.md").read_text().split())
    for table in (data_table(STORED), type_lists(STORED), synthesis_table(stored("stark_synthesis"))):
        for line in table.split("\n"):
            assert " ".join(line.split()) in text, line


def test_a_thousand_draws_take_less_than_a_minute_of_processor_time_on_the_anthology_and_questions_five():
    for name, found in stored("stark_synthesis").items():
        assert found["draws"] == 1000
        assert found["draws_cpu_s"] < 60, name
        assert found["questions_cpu_s"] < 300, name
        assert found["verified_golds"] >= 0.85
