"""prime from the sources of Hetionet. Every edge has its opposite, as in Prime.

Phenotypes are side effects (SIDER), traits (GWAS catalogue), and the symptoms in definitions of diseases. A 0 in the
matrix of expression is expression absent. Drug-disease links that modify the disease or treat a symptom are
indications. The sources have no contraindications, no synergies, no exposures, no absent phenotypes and no hierarchy of
pathways. A gene is a node if it has an edge; other nodes are those of their source.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stark_data.skb_files import SkbWriter
from benchmarks.stark_made import PRIME_RELATIONS, PRIME_TYPES

SOURCE = "biomed-hetio/biomed-hetio.tar.xz"

PPI = {
    "ppi/download/hid/HI-I-05.tsv": (0, 2),
    "ppi/download/hid/HI-II-14.tsv": (0, 2),
    "ppi/download/hid/Lit-BM-13.tsv": (0, 2),
    "ppi/download/hid/Venkatesan-09.tsv": (0, 3),
    "ppi/download/hid/Yu-11.tsv": (0, 2),
}
"""Files of protein interactions, with the columns of the two genes."""

GENES = "entrez-gene/download/Homo_sapiens.gene_info.gz"
DRUGS, PROTEINS = "drugbank/data/drugbank.tsv", "drugbank/data/proteins.tsv"
PUBCHEM, SIDER = "drugbank/data/pubchem-mapping.tsv", "SIDER4/download/meddra_all_se.tsv.gz"
DISEASES = "disease-ontology/download/DO_info_files/HumanDO_no_xrefs.obo"
DISEASE_GENES, INDICATIONS = "integrate/compile/DaG-association.tsv", "indications/catalog/indications.tsv"
GWAS = "gwas-catalog/download/gwas_catalog_v1.0.1-downloaded_2015-06-08.tsv.gz"
GO = "gene-ontology/annotations/taxid_9606/GO_annotations-9606-direct-expev.tsv"
PATHWAYS, ANATOMY, EXPRESSION = (
    "pathways/data/pathways.tsv",
    "uberon/data/terms.tsv",
    "bgee/data/present-in-adult.tsv.gz",
)
WANTED = frozenset({*PPI, GENES, DRUGS, PROTEINS, PUBCHEM, SIDER, DISEASES, DISEASE_GENES, INDICATIONS, GWAS, GO})
WANTED |= {PATHWAYS, ANATOMY, EXPRESSION}

_SYMPTOM = re.compile(r"has_symptom ([a-z][a-z -]{2,40}?)(?= and | or |[,.\"(])")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def write_hetionet(source: Path, folder: Path) -> None:
    """Writes FOLDER/skb."""
    maker = _Maker(_members(source), SkbWriter(folder, "prime", PRIME_TYPES, PRIME_RELATIONS))
    maker.diseases()
    maker.drugs()
    maker.phenotypes()
    maker.genes_of_sets()
    maker.interactions()
    maker.expression()
    maker.skb.close()


def _members(source: Path) -> dict[str, bytes]:
    """The files that are needed, 20 MB, unpacked from the archive but not from their own compression."""
    found = {}
    with tarfile.open(source, "r|*") as archive:
        for member in archive:
            if member.isfile() and member.name in WANTED:
                file = archive.extractfile(member)
                assert file is not None
                found[member.name] = file.read()
    if missing := sorted(WANTED - set(found)):
        raise SystemExit(f"{source} lacks {missing[0]}")
    return found


class _Maker:
    """Makes nodes and edges from one source after another."""

    def __init__(self, files: dict[str, bytes], skb: SkbWriter):
        self.files, self.skb = files, skb
        self.numbers: dict[tuple[str, str], int] = {}
        self.linked: set[tuple[int, int, str]] = set()
        self.gene_rows = {row[1]: row for row in self._rows(GENES) if not row[0].startswith("#")}

    def _rows(self, name: str) -> Iterator[list[str]]:
        """Cells of a tab-separated file with quotes, packed or not."""
        data = io.BytesIO(self.files[name])
        raw: Any = gzip.GzipFile(fileobj=data) if name.endswith(".gz") else data
        quoting = csv.QUOTE_MINIMAL if name == DRUGS else csv.QUOTE_NONE
        text = io.TextIOWrapper(raw, "utf-8", "replace", newline="")
        yield from csv.reader(text, delimiter="\t", quoting=quoting)

    def _table(self, name: str) -> Iterator[dict[str, str]]:
        rows = self._rows(name)
        head = next(rows)
        yield from (dict(zip(head, row, strict=False)) for row in rows)

    def _node(self, kind: str, key: str, about: Callable[[], dict[str, Any]]) -> int:
        """The id of a node, which is made the first time."""
        if (kind, key) not in self.numbers:
            number = self.skb.number(kind)
            self.numbers[kind, key] = number
            self.skb.attributes(number, {"id": key, "type": kind, **about()})
        return self.numbers[kind, key]

    def _edge(self, head: int, tail: int, relation: str) -> None:
        pair = (min(head, tail), max(head, tail), relation)
        if head != tail and pair not in self.linked:
            self.linked.add(pair)
            self.skb.edge(head, tail, relation, both=True)

    def _gene(self, key: str) -> int | None:
        """A human gene; None if Entrez has none of this number."""
        row = self.gene_rows.get(key)
        if row is None:
            return None
        return self._node("gene/protein", key, lambda: {"name": row[2], "source": "NCBI", "details": gene_details(row)})

    def _phenotype(self, name: str, source: str) -> int:
        name = " ".join(name.split())
        return self._node("effect/phenotype", name.lower(), lambda: {"name": name, "source": source})

    def diseases(self) -> None:
        """The Disease Ontology: names, definitions, hierarchy and symptoms."""
        terms = [term for term in obo_terms(self.files[DISEASES].decode()) if "is_obsolete" not in term]
        for term in terms:
            details = {}
            if definition := _QUOTED.search(term.get("def", [""])[0]):
                details["definition"] = definition[1]
            if synonyms := [match[1].strip() for text in term.get("synonym", []) if (match := _QUOTED.search(text))]:
                details["synonyms"] = synonyms
            about = {"name": term["name"][0], "source": "Disease Ontology", "details": details}
            self._node("disease", term["id"][0], lambda about=about: about)
        for term in terms:
            number = self.numbers["disease", term["id"][0]]
            for parent in term.get("is_a", []):
                if ("disease", key := parent.split(" ")[0]) in self.numbers:
                    self._edge(self.numbers["disease", key], number, "parent-child")
            for symptom in _SYMPTOM.findall(term.get("def", [""])[0]):
                self._edge(number, self._phenotype(symptom, "Disease Ontology"), "phenotype present")
        for row in self._table(DISEASE_GENES):
            gene = self._gene(row["entrez_gene_id"])
            if gene is not None and ("disease", row["doid_id"]) in self.numbers:
                self._edge(self.numbers["disease", row["doid_id"]], gene, "associated with")

    def drugs(self) -> None:
        """DrugBank with proteins and indications."""
        for row in self._table(DRUGS):
            details: dict[str, Any] = {
                "description": row["description"] or "nan", "state": row["type"], "group": row["groups"].split("|"),
                "category": row["categories"].split("|"), "atc_1": row["atc_codes"].split("|"), "half_life": "nan",
            }  # fmt: skip
            about = {"name": row["name"], "source": "DrugBank", "details": details}
            self._node("drug", row["drugbank_id"], lambda about=about: about)
        for row in self._table(PROTEINS):
            gene = self._gene(row["entrez_gene_id"])
            if row["organism"] == "Human" and gene is not None and ("drug", row["drugbank_id"]) in self.numbers:
                self._edge(self.numbers["drug", row["drugbank_id"]], gene, row["category"])
        for row in self._table(INDICATIONS):
            ends = ("drug", row["drugbank_id"]), ("disease", row["doid_id"])
            if row["category"] in ("DM", "SYM") and all(end in self.numbers for end in ends):
                self._edge(self.numbers[ends[0]], self.numbers[ends[1]], "indication")

    def phenotypes(self) -> None:
        """Side effects by the number of their drug in PubChem, and traits by the genes of their variants."""
        drugs: dict[int, list[int]] = {}
        for row in self._table(PUBCHEM):
            if ("drug", row["drugbank_id"]) in self.numbers:
                drugs.setdefault(int(row["pubchem_cid"]), []).append(self.numbers["drug", row["drugbank_id"]])
        for flat, _, _, term, _, name in self._rows(SIDER):
            for drug in drugs.get(int(flat[4:]), []) if term == "PT" else ():
                self._edge(drug, self._phenotype(name, "SIDER"), "side effect")
        for row in self._table(GWAS):
            for key in row["SNP_GENE_IDS"].split(";") if row["SNP_GENE_IDS"] else ():
                gene = self._gene(key.strip())
                if gene is not None:
                    self._edge(gene, self._phenotype(row["DISEASE/TRAIT"], "GWAS Catalog"), "associated with")

    def genes_of_sets(self) -> None:
        """Gene Ontology and pathways."""
        for row in self._table(GO):
            self._set(row["go_domain"], row["go_id"], row["go_name"], "GO", row["gene_ids"])
        for row in self._table(PATHWAYS):
            self._set("pathway", row["identifier"], row["name"], row["source"], row["genes"])

    def _set(self, kind: str, key: str, name: str, source: str, genes: str) -> None:
        number = self._node(kind, key, lambda: {"name": name, "source": source})
        for one in genes.split("|"):
            if (gene := self._gene(one)) is not None:
                self._edge(gene, number, "interacts with")

    def interactions(self) -> None:
        """Interactions of proteins."""
        for name, (first, second) in PPI.items():
            rows = self._rows(name)
            next(rows)
            for row in rows:
                a, b = self._gene(row[first]), self._gene(row[second])
                if a is not None and b is not None:
                    self._edge(a, b, "ppi")

    def expression(self) -> None:
        """The matrix of genes and organs; columns of cell types have no organ."""
        names = {row["uberon_id"]: row["uberon_name"] for row in self._table(ANATOMY)}
        rows = self._rows(EXPRESSION)
        head = next(rows)
        columns = [at for at, key in enumerate(head) if key in names]
        organs = np.array([
            self._node("anatomy", head[at], lambda at=at: {"name": names[head[at]], "source": "UBERON"})
            for at in columns
        ])  # fmt: skip
        for row in rows:
            gene = self._gene(row[0])
            if gene is None:
                continue
            present = np.array([row[at] == "1" for at in columns])
            for relation, chosen in (("expression present", present), ("expression absent", ~present)):
                found = organs[chosen]
                self.skb.edges(found, np.full(len(found), gene), relation)


def gene_details(row: list[str]) -> dict[str, Any]:
    """Details of a gene from a row of Entrez, whose unknown values are "-"."""
    details = {
        "query": row[2],
        "name": row[8],
        "type_of_gene": row[9],
        "alias": row[4].split("|"),
        "other_names": row[13].split("|"),
        "genomic_pos": {"chr": row[6], "map_location": row[7]},
    }
    return {key: value for key, value in details.items() if value not in ("-", ["-"])}


def obo_terms(text: str) -> Iterator[dict[str, list[str]]]:
    """The terms of an OBO file: values by tag.

    >>> list(obo_terms("format-version: 1.2\\n\\n[Term]\\nid: D:1\\nis_a: D:2 ! x\\nis_a: D:3\\n"))
    [{'id': ['D:1'], 'is_a': ['D:2 ! x', 'D:3']}]
    """
    for block in text.split("\n\n"):
        lines = block.strip().split("\n")
        if lines[0] == "[Term]":
            term: dict[str, list[str]] = {}
            for line in lines[1:]:
                tag, _, value = line.partition(": ")
                term.setdefault(tag, []).append(value)
            yield term
