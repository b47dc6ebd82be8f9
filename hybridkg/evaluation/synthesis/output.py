"""The files of synthesised questions: STaRK's form, TREC's form, and how each question was made.

`gold.jsonl` has everything, one question a line. `stark_qa/stark_qa.csv` and `split/*.index` are STaRK's form, in which
an answer is a number: the last part of its IRI. They are left out where an IRI does not end in a number. The topics and
judgements are those that `hybridkg run`, `eval` and `tune` read.
"""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from hybridkg.errors import StorageError, UserError
from hybridkg.evaluation.synthesis.synthesise import Synthesis, SynthesisedQuestion
from hybridkg.evaluation.synthesis.templates import SPLITS

_NODE = re.compile(r"(.*/)(0|[1-9][0-9]{0,17})")


def files_of(synthesis: Synthesis) -> dict[str, str]:
    """The texts of all files, by path below the folder."""
    questions = synthesis.questions
    files = {"gold.jsonl": "".join(map(_gold, questions)), "report.json": _report(synthesis)}
    files |= _trec("", questions)
    for split in SPLITS:
        files |= _trec(f"-{split}", [question for question in questions if question.split == split])
    files["folds.json"] = _folds(questions)
    return files | _stark(questions)


def write_synthesis(synthesis: Synthesis, folder: Path) -> list[str]:
    """Writes the files into a new folder, all or none; returns their paths below it.

    Raises:
        UserError: the folder exists.
        StorageError: it cannot be written.
    """
    folder = Path(folder)
    files = files_of(synthesis)
    staging = folder.absolute().parent / f".{folder.name}.{secrets.token_hex(4)}"
    try:
        for name, text in files.items():
            path = staging / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        refuse_existing(folder)
        staging.rename(folder)
    except OSError as e:
        raise StorageError(f"cannot write {str(folder)!r}: {(e.strerror or str(e)).lower()}") from e
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return list(files)


def refuse_existing(folder: Path) -> None:
    """Checks that the folder does not exist yet. Raises UserError: it does."""
    if folder.exists() or folder.is_symlink():
        raise UserError(f"{str(folder)!r} exists already", hint="remove it, or choose another folder")


def _gold(question: SynthesisedQuestion) -> str:
    about = {
        "id": str(question.number),
        "split": question.split,
        "query": question.text,
        "template": question.template,
        "role": question.role,
        "anchors": {name: {"iri": iri, "name": label} for name, (iri, label) in question.anchors.items()},
        "properties": list(question.properties),
        "asked": list(question.asked),
        "hybridql": question.query,
        "gold": question.gold,
        "candidates": question.candidates,
        "answers": list(question.answers),
    }
    return json.dumps(about, ensure_ascii=False) + "\n"


def _report(synthesis: Synthesis) -> str:
    by_template = {
        name: sum(question.template == name for question in synthesis.questions)
        for name in synthesis.templates.templates
    }
    about = {
        "templates": synthesis.templates.name,
        "seed": synthesis.seed,
        "wanted": synthesis.wanted,
        "questions": len(synthesis.questions),
        "splits": {split: sum(q.split == split for q in synthesis.questions) for split in SPLITS},
        "by_template": by_template,
        "not_drawn": list(synthesis.not_drawn),
        "refused": dict(synthesis.refused),
        "verified_golds": synthesis.verified,
        **({"models": list(synthesis.models), "requests": synthesis.requests} if synthesis.models else {}),
    }
    return json.dumps(about, indent=1) + "\n"


def _trec(suffix: str, questions: Iterable[SynthesisedQuestion]) -> dict[str, str]:
    chosen = list(questions)
    judged = [f"{q.number} 0 {iri} 1\n" for q in chosen for iri in q.answers]
    return {
        f"topics{suffix}.tsv": "".join(f"{q.number}\t{q.text}\n" for q in chosen),
        f"qrels{suffix}.txt": "".join(judged),
    }


def _folds(questions: Iterable[SynthesisedQuestion]) -> str:
    """The fold `test`, which trains on train and val, and the folds of these two."""
    parts: dict[str, list[str]] = {split: [] for split in SPLITS}
    for question in questions:
        parts[question.split].append(str(question.number))
    folds = {
        name: {"training": [one for other in SPLITS if other != name for one in parts[other]], "testing": parts[name]}
        for name in ("test", "val", "train")
    }
    return json.dumps(folds, indent=1) + "\n"


def _stark(questions: Iterable[SynthesisedQuestion]) -> dict[str, str]:
    """The files of STaRK; none if the answers have no numbers, or those of several knowledge bases."""
    rows, bases = [], set()
    parts: dict[str, list[str]] = {split: [] for split in SPLITS}
    for question in questions:
        matches = [_NODE.fullmatch(iri) for iri in question.answers]
        if None in matches:
            return {}
        bases |= {match[1] for match in matches if match}
        numbers = sorted(int(match[2]) for match in matches if match)
        rows.append([str(question.number), question.text, str(numbers)])
        parts[question.split].append(str(question.number))
    if len(bases) > 1:
        return {}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([["id", "query", "answer_ids"], *rows])
    return {
        "stark_qa/stark_qa.csv": out.getvalue(),
        **{f"split/{split}.index": "".join(f"{one}\n" for one in ids) for split, ids in parts.items()},
    }
