"""The converter of the ACL Anthology on a hand-made collection, and on a few files of the real one."""

from __future__ import annotations

import gzip
import importlib.util
import io
import lzma
import os
import tarfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pyoxigraph
import pytest

ROOT = Path(__file__).parents[2]
ACL = "https://w3id.org/hybridkg/acl#"
SITE = "https://aclanthology.org/"
MADE = "https://w3id.org/hybridkg/acl/"


@pytest.fixture(scope="module")
def converter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("acl_anthology", ROOT / "examples" / "acl_anthology.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NEW = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="2031.fish">
  <volume id="long" type="proceedings">
    <meta>
      <booktitle>Proceedings of the <fixed-case>F</fixed-case>ish Workshop</booktitle>
      <editor><first>Ed</first><last>Itor</last></editor>
      <publisher>Pond Press</publisher><address>Lakeside</address>
      <month>May</month><year>2031</year><venue>fish</venue><venue>acl</venue>
    </meta>
    <frontmatter><url hash="0">2031.fish-long.0</url><bibkey>fish-2031</bibkey></frontmatter>
    <paper id="1">
      <title>Parsing <fixed-case>T</fixed-case>rout with <tex-math>\\alpha</tex-math> "quotes" and a back\\slash</title>
      <author><first>Ann</first><last>Lee</last><affiliation>Pond University</affiliation></author>
      <author id="bo-ek-old"><first>Bo</first><last>Ek</last><affiliation>Pond University</affiliation></author>
      <author><first/><last>Cy</last></author>
      <pages>1\u20139</pages>
      <abstract>We parse
        trout &amp; salmon <i>slowly</i>, see <url>http://x.org</url>.</abstract>
      <url hash="1">2031.fish-long.1</url>
      <doi>10.1/2031.fish-long.1</doi>
      <video href="2031.fish-long.1.mp4"/>
      <award>Best Paper</award>
      <language>deu</language>
      <bibkey>lee-etal-2031-parsing</bibkey>
      <pwccode url="https://example.org/trout" additional="false">trout</pwccode>
      <pwcdataset url="https://paperswithcode.com/dataset/troutbank">TroutBank</pwcdataset>
      <pwcdataset url="">Loose Net</pwcdataset>
      <retracted date="2032-01-01">fishy</retracted>
    </paper>
    <paper id="2">
      <title>More Trout</title>
      <author><first>Annie</first><last>Lee</last></author>
      <bibkey>lee-2031-more</bibkey>
    </paper>
  </volume>
</collection>
"""
OLD = """<collection id="W06"><volume id="3"><meta><booktitle>Old</booktitle><year>2006</year><venue>ws</venue></meta>
<paper id="4"><title>Carp</title><author><first>Jim</first><last>Carp</last></author><bibkey>c</bibkey></paper>
</volume></collection>"""
VARIANTS = """- canonical: {first: Ann, last: Lee}
  variants:
  - {first: Annie, last: Lee}
- canonical: {first: Bo, last: Ek}
  id: bo-ek-old
- canonical: {first: Jim, last: 'Carp, Jr.'}
  id: jim-carp
  variants:
  - {first: Jim, last: Carp}
"""
FILES = {
    "xml/2031.fish.xml": NEW,
    "xml/W06.xml": OLD,
    "yaml/venues/fish.yaml": "acronym: FISH\nname: 'Fish: a Workshop on\n  Fish'\n",
    "yaml/venues/ws.yaml": 'acronym: WS\nname: "Other \\xE9vents"\n',
    "yaml/name_variants.yaml": VARIANTS,
}


@pytest.fixture
def folder(tmp_path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "source"


def triples(data: bytes) -> Counter[tuple[str, str, str]]:
    found = pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES)
    short = {"http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:", "http://www.w3.org/2000/01/rdf-schema#": "rdfs:"}
    short |= {ACL: "", MADE: "made:", SITE: "site:", "http://www.w3.org/2004/02/skos/core#": "skos:"}

    def shown(term: str) -> str:
        return next((new + term[len(old) :] for old, new in short.items() if term.startswith(old)), term)

    return Counter(tuple(shown(t.value) for t in (q.subject, q.predicate, q.object)) for q in found)


def test_a_paper_says_everything_that_the_vocabulary_has(converter, folder):
    out = io.BytesIO()
    papers, count = converter.convert(folder, out)
    found = triples(out.getvalue())
    assert (papers, count) == (3, sum(found.values()))
    title = 'Parsing Trout with \\alpha "quotes" and a back\\slash'
    assert {(p, o) for s, p, o in found if s == "site:2031.fish-long.1"} == {
        ("rdf:type", "Paper"),
        ("rdfs:label", title),
        ("title", title),
        ("year", "2031"),
        ("publishedIn", "site:volumes/2031.fish-long"),
        ("venue", "site:venues/fish"),
        ("venue", "site:venues/acl"),
        ("abstract", "We parse trout & salmon slowly, see http://x.org."),
        ("pages", "1\u20139"),
        ("bibkey", "lee-etal-2031-parsing"),
        ("language", "deu"),
        ("retracted", "fishy"),
        ("award", "Best Paper"),
        ("firstAuthor", "made:person/Ann_Lee"),
        ("author", "made:person/Ann_Lee"),
        ("author", "made:person/bo-ek-old"),
        ("author", "made:person/_Cy"),
        ("authorAffiliation", "made:organisation/Pond_University"),
        ("dataset", "https://paperswithcode.com/dataset/troutbank"),
        ("dataset", "made:dataset/Loose_Net"),
        ("doi", "https://doi.org/10.1/2031.fish-long.1"),
        ("code", "https://example.org/trout"),
        ("video", "site:2031.fish-long.1.mp4"),
        ("document", "site:2031.fish-long.1.pdf"),
    }


def test_people_are_told_apart_by_id_and_joined_by_their_list_of_names(converter, folder):
    out = io.BytesIO()
    converter.convert(folder, out)
    found = triples(out.getvalue())
    people = {(s, p, o) for s, p, o in found if s.startswith("made:person/") and p in ("rdfs:label", "skos:altLabel")}
    assert people == {
        ("made:person/Ann_Lee", "rdfs:label", "Ann Lee"),
        ("made:person/Ann_Lee", "skos:altLabel", "Annie Lee"),
        ("made:person/bo-ek-old", "rdfs:label", "Bo Ek"),
        ("made:person/_Cy", "rdfs:label", "Cy"),
        ("made:person/Ed_Itor", "rdfs:label", "Ed Itor"),
        ("made:person/jim-carp", "rdfs:label", "Jim Carp, Jr."),
        ("made:person/jim-carp", "skos:altLabel", "Jim Carp"),
    }
    assert ("site:2031.fish-long.2", "author", "made:person/Ann_Lee") in found
    assert ("site:W06-0304", "author", "made:person/jim-carp") in found


def test_volumes_and_venues_have_their_names(converter, folder):
    out = io.BytesIO()
    converter.convert(folder, out)
    found = set(triples(out.getvalue()))
    assert found >= {
        ("site:volumes/2031.fish-long", "title", "Proceedings of the Fish Workshop"),
        ("site:volumes/2031.fish-long", "editor", "made:person/Ed_Itor"),
        ("site:volumes/2031.fish-long", "publisher", "Pond Press"),
        ("site:volumes/2031.fish-long", "place", "Lakeside"),
        ("site:venues/fish", "name", "Fish: a Workshop on Fish"),
        ("site:venues/fish", "acronym", "FISH"),
        ("site:venues/ws", "name", "Other évents"),
        ("site:venues/acl", "name", "acl"),
        ("site:W06-0304", "year", "2006"),
    }


def test_an_archive_gives_the_same_bytes_as_the_folder_and_twice_the_same(converter, folder, tmp_path):
    archive = tmp_path / "acl.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        for name in sorted(FILES):
            tar.add(folder / name, name)
    outs = [tmp_path / name for name in ("a.nt.gz", "b.nt.gz", "c.nt")]
    for source, out in zip((folder, archive, folder), outs, strict=True):
        assert converter.main([str(source), str(out)]) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert gzip.decompress(outs[0].read_bytes()) == outs[2].read_bytes()


def test_mistakes_are_told_in_one_line(converter, folder, tmp_path, capsys):
    out = str(tmp_path / "o.nt")
    assert converter.main([]) == 2
    assert converter.main([str(tmp_path / "none"), out]) == 2
    assert converter.main([str(tmp_path), out]) == 2
    (tmp_path / "broken.tar.xz").write_bytes(b"\xfd7zXZ\x00 not really")
    assert converter.main([str(tmp_path / "broken.tar.xz"), out]) == 1
    (folder / "xml" / "W06.xml").write_text("<collection><volume>")
    assert converter.main([str(folder), out]) == 1
    usage, missing, empty, broken, malformed = capsys.readouterr().err.splitlines()
    assert usage == "The ACL Anthology as RDF: python examples/acl_anthology.py SOURCE OUT.nt[.gz]"
    assert missing == f"no such file or folder: {tmp_path / 'none'}"
    assert empty == f"no papers in {tmp_path}: it should hold a folder named xml"
    assert broken.startswith(f"{tmp_path / 'broken.tar.xz'}: ")
    assert malformed.startswith(f"{folder}: W06.xml: no element found")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("o.nt")] == []


def test_an_output_that_cannot_be_written_is_not_blamed_on_the_source(converter, folder, tmp_path, capsys):
    assert converter.main([str(folder), str(tmp_path / "none" / "o.nt.gz")]) == 1
    assert capsys.readouterr().err == f"cannot write {tmp_path / 'none' / 'o.nt.gz'}: No such file or directory\n"


def test_a_file_that_is_no_archive_is_told_so(converter, tmp_path, capsys):
    for content in (b"hello", lzma.compress(b"hello" * 999)):
        (tmp_path / "a.tar.xz").write_bytes(content)
        assert converter.main([str(tmp_path / "a.tar.xz"), str(tmp_path / "o.nt")]) == 1
        assert capsys.readouterr().err == f"{tmp_path / 'a.tar.xz'}: no tar archive, or a damaged one\n"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_no_mistake(converter, option, capsys):
    assert converter.main([option]) == 0
    assert "SOURCE is an archive" in capsys.readouterr().out


def test_an_interruption_is_one_line_and_leaves_no_file(converter, folder, tmp_path, monkeypatch, capsys):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(converter, "convert", interrupted)
    assert converter.main([str(folder), str(tmp_path / "o.nt")]) == 130
    assert capsys.readouterr().err == "interrupted; nothing has been written\n"
    assert not list(tmp_path.glob("o.nt*"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_written_to_and_not_replaced(converter, folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        assert converter.main([str(folder), str(pipe)]) == 0
        assert read.result(timeout=120).startswith(b"<")
    assert pipe.is_fifo()


def data_folder() -> Path:
    return Path(os.environ.get("HYBRIDKG_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.needs_shared
def test_real_collections_give_every_paper_once(converter, tmp_path):
    archive = data_folder() / "acl-anthology" / "acl-anthology-2025-06-01-addendum.tar.xz"
    if not archive.exists():
        pytest.skip(f"no {archive}")
    wanted = ("2024.bea.xml", "2024.cl.xml", "2024.eamt.xml")
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.endswith(wanted):
                path = tmp_path / "data" / "xml" / Path(member.name).name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())
    out = io.BytesIO()
    papers, _ = converter.convert(tmp_path, out)
    found = triples(out.getvalue())
    assert sorted(path.name for path in (tmp_path / "data" / "xml").iterdir()) == sorted(wanted)
    assert papers > 100
    assert papers == len([s for s, p, o in found if (p, o) == ("rdf:type", "Paper")])
    titled = {s for s, p, _ in found if p == "title"}
    assert all(s in titled for s, p, o in found if (p, o) == ("rdf:type", "Paper"))
