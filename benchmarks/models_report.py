"""The stored figures of benchmarks/models.py as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.models_systems import BASELINE

SHOWN = ("map@100", "map@1000", "ndcg@10", "ndcg@100", "judged@10")
Figures = Mapping[str, Any]


def table(stored: Figures) -> str:
    """Everything that is stored, part by part."""
    parts = {
        "quality": _quality,
        "smoothing": _smoothing,
        "tuned": _tuned,
        "bm25s": _bm25s,
        "speed": _speed,
    }
    return "\n\n".join(write(stored[part]) for part, write in parts.items() if part in stored)


def _rows(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(header)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _number(value: float) -> str:
    return f"{value:.4f}".replace("0.", ".", 1)


def _p(value: float) -> str:
    return "<.0001" if value < 0.0001 else f"{value:.4f}".replace("0.", ".", 1)


def _signed(row: Figures) -> str:
    """The difference, and the p-values of both tests after Holm's correction."""
    mark = " *" if max(row["p_t_holm"], row["p_randomisation_holm"]) < 0.05 else ""
    sign = "-" if row["difference"] < 0 else "+"
    return f"{sign}{_number(abs(row['difference']))}{mark} ({_p(row['p_t_holm'])}, {_p(row['p_randomisation_holm'])})"


def _quality(collections: Figures) -> str:
    found = []
    for name, own in collections.items():
        against = own[f"against_{BASELINE}"]
        rows = []
        for system, means in own["means"].items():
            tests = [against.get(f"{system}, {measure}") for measure in ("ndcg@10", "map@100")]
            rows.append([system, *(_number(means[m]) for m in SHOWN), *(_signed(t) if t else "" for t in tests)])
        header = [f"{name}, {own['topics']} topics", *(m.upper().replace("JUDGED", "judged") for m in SHOWN)]
        found.append(_rows([*header, "NDCG@10 - bm25 (t, rand.)", "MAP@100 - bm25 (t, rand.)"], rows))
        for pair, tests in own["against_what_it_extends"].items():
            found.append(f"{pair}: NDCG@10 {_signed(tests[pair.split(' - ')[0] + ', ndcg@10'])}")
    return "\n\n".join(found)


def _smoothing(collections: Figures) -> str:
    found = []
    for name, own in collections.items():
        models = {model: figures for model, figures in own.items() if isinstance(figures, dict)}
        settings = next(iter(models.values()))
        rows = [
            [
                setting,
                *(f"{_number(m[setting]['ndcg@10'])} / {_number(m[setting]['map@100'])}" for m in models.values()),
            ]
            for setting in settings
        ]
        found.append(_rows([f"{name}: NDCG@10 / MAP@100", *models], rows))
    return "\n\n".join(found)


def _tuned(collections: Figures) -> str:
    found = []
    trained = (
        (f"{name}, tuned for {objective}", own)
        for name, objectives in collections.items()
        for objective, own in objectives.items()
        if isinstance(own, dict)
    )
    for name, own in trained:
        header = [name, "MAP@100", "NDCG@10"]
        header += [f"{measure} - {base}" for base in ("bm25", "bm25 tuned") for measure in ("NDCG@10", "MAP@100")]
        group = ", all" if own["by_category"] else ""
        rows = []
        for system, means in own["means"].items():
            cells = [system, _number(means["map@100"]), _number(means["ndcg@10"])]
            for base in ("untuned", "tuned"):
                for measure in ("ndcg@10", "map@100"):
                    test = own[f"against_{BASELINE}"][base].get(f"{system}, {measure}{group}")
                    cells.append(_signed(test) if test else "")
            rows.append(cells)
        found.append(_rows(header, rows))
        if own["by_category"]:
            found.append(_tuned_by_category(name, own))
    return "\n\n".join(found)


def _tuned_by_category(name: str, own: Figures) -> str:
    groups = own["by_category"]
    rows = []
    for system in own["means"]:
        cells = [system]
        for group, means in groups.items():
            test = own[f"against_{BASELINE}"]["tuned"].get(f"{system}, ndcg@10, {group}")
            p = f" ({_p(test['p_randomisation_holm'])})" if test else ""
            cells.append(_number(means[system]["ndcg@10"]) + p)
        rows.append(cells)
    return _rows([f"{name}: NDCG@10 (rand. against bm25 tuned)", *groups], rows)


def _bm25s(collections: Figures) -> str:
    rows = []
    for name, own in collections.items():
        means, overlap = own["means"], own["overlap_of_best"]
        rows.append([
            name, *(_number(means[s][m]) for m in ("map@1000", "map@100") for s in ("hybridkg", "bm25s")),
            *(f"{overlap[k]:.3f}" for k in ("10", "100")),
        ])  # fmt: skip
    header = ["", "MAP@1000 hybridkg", "bm25s", "MAP@100 hybridkg", "bm25s", "same of best 10", "of best 100"]
    return _rows(header, rows)


def _speed(collections: Figures) -> str:
    names = list(collections)
    systems = dict.fromkeys(system for own in collections.values() for system in own["median_ms"])
    rows = [
        [
            system,
            *(
                f"{own['median_ms'][system]:.2f} ms, {own['times_bm25f'][system]:.1f}"
                if system in own["median_ms"]
                else ""
                for own in collections.values()
            ),
        ]
        for system in systems
    ]
    return _rows(["median, times bm25f", *names], rows)
