"""One peer of benchmarks/vectors_filtered.py, run by the Python that has it: `python vectors_peer.py PEER FOLDER`.

Needs nothing of hybridkg. Writes FOLDER/PEER.json: (ids, milliseconds) of each question, null where the peer cannot
ask it.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

K = 10
OWN = ("v0", "v1", "v2")
POOL = 6 * 2**30
"""Bytes: 500,000 vectors and their graph did not fit into one GiB."""

Ask = Callable[[Any, Any], "list[int] | None"]


def lancedb(folder: Path, vectors: Any, values: Any) -> tuple[Ask, dict[str, Any]]:
    """One table, HNSW over 8-bit codes (IVF_HNSW_SQ, defaults), the filter before the search (its default)."""
    import lancedb as library
    import pyarrow as pa

    shutil.rmtree(folder / "lance", ignore_errors=True)
    columns = {"id": pa.array(np.arange(len(vectors))), **{name: values[:, i] for i, name in enumerate(OWN)}}
    flat = pa.array(vectors.reshape(-1))
    table = library.connect(folder / "lance").create_table(
        "entities", pa.table({**columns, "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})
    )
    table.create_index(metric="cosine", index_type="IVF_HNSW_SQ", vector_column_name="vector")
    for name in OWN:
        table.create_scalar_index(name)

    def ask(query: Any, condition: Any) -> list[int] | None:
        search = table.search(query).distance_type("cosine").limit(K)
        if condition is not None:
            if condition["shape"] == "two-hop":
                return None  # a table has no joins
            search = search.where(
                " AND ".join(f"v{c} >= {low!r} AND v{c} < {high!r}" for c, low, high in condition["conditions"])
            )
        return search.select(["id", "_distance"]).to_arrow()["id"].to_pylist()

    return ask, {"version": library.__version__, "index": "IVF_HNSW_SQ", "two-hop": "cannot: a table has no joins"}


def kuzu(folder: Path, vectors: Any, values: Any) -> tuple[Ask, dict[str, Any]]:
    """A property graph; HNSW (defaults) over a projected graph of the nodes that pass."""
    import kuzu as library

    for old in folder.glob("kuzu*"):
        if old.suffix != ".json":
            old.unlink()
    n = len(vectors)
    connection = library.Connection(library.Database(str(folder / "kuzu"), buffer_pool_size=POOL))
    run = connection.execute
    run("LOAD VECTOR")
    own = ", ".join(f"{name} DOUBLE" for name in OWN)
    run(f"CREATE NODE TABLE E(id INT64, {own}, vec FLOAT[{vectors.shape[1]}], PRIMARY KEY(id))")
    run("CREATE NODE TABLE A(id INT64, PRIMARY KEY(id))")
    run("CREATE NODE TABLE P(id INT64, v0 DOUBLE, v1 DOUBLE, PRIMARY KEY(id))")
    for number in (0, 1):
        run(f"CREATE REL TABLE BY{number}(FROM E TO A)")
        run(f"CREATE REL TABLE IN{number}(FROM A TO P)")
    ids = np.arange(n)
    np.save(folder / "kuzu_id.npy", ids)
    for i, name in enumerate(OWN):
        np.save(folder / f"kuzu_{name}.npy", values[:, i].copy())
    parts = [folder / "kuzu_id.npy", *(folder / f"kuzu_{name}.npy" for name in OWN), folder / "vectors.npy"]
    run("COPY E FROM (" + ", ".join(f'"{part}"' for part in parts) + ") BY COLUMN")
    places = (values[:, :2] * n / 50 + 1e-6).astype(np.int64)
    authors = (values[:, :2] * n / 5 + 1e-6).astype(np.int64)
    _copy(run, folder, "A", [np.unique(authors)])
    every = np.unique(places)
    _copy(run, folder, "P", [every, every * 50 / n, every * 50 / n])
    for number in (0, 1):
        _copy(run, folder, f"BY{number}", [ids, authors[:, number]])
        pairs = np.unique(np.stack([authors[:, number], places[:, number]], axis=1), axis=0)
        _copy(run, folder, f"IN{number}", [pairs[:, 0], pairs[:, 1]])
    cannot: dict[str, Any] = {}
    run("CALL CREATE_VECTOR_INDEX('E', 'near', 'vec', metric := 'cosine')")

    def ask(query: Any, condition: Any) -> list[int] | None:
        graph = "E"
        if condition is not None:
            graph = "G"
            (column, low, high), *more = condition["conditions"]
            if condition["shape"] == "two-hop":
                match = f"MATCH (e:E)-[:BY{column}]->(:A)-[:IN{column}]->(p:P) WHERE p.v{column} >= {low!r} "
                match += f"AND p.v{column} < {high!r} RETURN e"  # RETURN DISTINCT e: "unordered_map::at" in 0.11.3
            else:
                tests = [f"e.v{c} >= {lo!r} AND e.v{c} < {hi!r}" for c, lo, hi in ((column, low, high), *more)]
                match = f"MATCH (e:E) WHERE {' AND '.join(tests)} RETURN e"
            run(f"CALL PROJECT_GRAPH_CYPHER('G', '{match}')")
        try:
            found = run(
                f"CALL QUERY_VECTOR_INDEX('{graph}', 'near', $q, {K}) RETURN node.id, distance ORDER BY distance",
                {"q": query.tolist()},
            )
            return [row[0] for row in found]
        except RuntimeError as e:
            cannot.setdefault(str(e), condition)
            return None
        finally:
            if condition is not None:
                run("CALL DROP_PROJECTED_GRAPH('G')")

    return ask, {"version": library.__version__, "index": "HNSW", "cannot": cannot}


def _copy(run: Any, folder: Path, table: str, columns: list[Any]) -> None:
    file = folder / "kuzu_rows.csv"
    with file.open("w") as out:
        for row in zip(*(column.tolist() for column in columns), strict=True):
            out.write(",".join(map(repr, row)) + "\n")
    run(f'COPY {table} FROM "{file}" (header=false)')


def main() -> None:
    """Builds, asks each question twice, and times the second."""
    peer, folder = sys.argv[1], Path(sys.argv[2])
    vectors, values = np.load(folder / "vectors.npy"), np.load(folder / "values.npy")
    queries, conditions = np.load(folder / "queries.npy"), json.loads((folder / "filters.json").read_text())
    started = time.perf_counter()
    ask, about = {"lancedb": lancedb, "kuzu": kuzu}[peer](folder, vectors, values)
    about["build_s"] = round(time.perf_counter() - started, 1)
    answers: list[dict[str, Any] | None] = []
    for query, condition in zip(queries, conditions, strict=True):
        if ask(query, condition) is None:
            answers.append(None)
            continue
        started = time.perf_counter()
        ids = ask(query, condition)
        answers.append({"ids": ids, "ms": (time.perf_counter() - started) * 1e3})
    (folder / f"{peer}.json").write_text(json.dumps({"about": about, "answers": answers}))


if __name__ == "__main__":
    main()
