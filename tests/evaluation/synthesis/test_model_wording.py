"""Synthesis by language models: their words are checked, and what they say wrongly refuses the question."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner
from model_server_at_hand import model_server, status
from sampling import sampled

from hybridkg.cli import cli
from hybridkg.errors import ModelServerError, ParameterError, UserError
from hybridkg.evaluation.synthesis import model_wording
from hybridkg.evaluation.synthesis.model_wording import DESCRIBE, REWRITE, VERIFY, WRITE
from hybridkg.evaluation.synthesis.synthesise import synthesise
from hybridkg.kb import KnowledgeBase

N = 3


class Model:
    """A language model that does as it is told; a test replaces one of its answers."""

    def __init__(self):
        self.says = {
            DESCRIBE: self.describe,
            WRITE: self.write,
            REWRITE: self.reword,
            **dict.fromkeys(VERIFY, self.verify),
        }
        self.given = []

    def answer(self, path, body):
        instruction, data = body["messages"][0]["content"], json.loads(body["messages"][1]["content"])
        self.given.append((instruction, body["model"], data))
        said = self.says[instruction](data)
        return {"choices": [{"message": {"content": said if isinstance(said, str) else json.dumps(said)}}]}

    def describe(self, data):
        return {"properties": [" ".join(data["record"][data["record"].index("beta") :].split()[:2])]}

    def write(self, data):
        return {"question": f"As a {data['role']} I want {data['request']}: {' and '.join(data['properties'])}"}

    def reword(self, data):
        return {"question": f"Please, {data['question']}"}

    def verify(self, data):
        return {"answers": [all(one in record["text"] for one in data["properties"]) for record in data["records"]]}


@pytest.fixture(scope="module")
def kb(graphs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "kb"
    shutil.copytree(graphs["mag"][2], folder)
    with model_server() as served:
        with (folder / "kb.toml").open("a") as file:
            file.write(f'\n[reranking]\nurl = "{served.url}"\n')
        with KnowledgeBase.open(folder) as base:
            base.served, base.folder = served, folder
            yield base


@pytest.fixture
def model(kb):
    found = Model()
    kb.served.answer, kb.served.faults = found.answer, []
    return found


def made(kb, **options):
    return synthesise(kb, "stark-mag", N, seed=2, llm="writer", **options)


def test_questions_are_those_of_the_model_with_answers_that_both_verifiers_accept(kb, model):
    found = made(kb, verifiers=["first", "second"])
    assert len(found.questions) == N
    assert (found.models, found.verified) == (("writer", "first", "second"), 1.0)
    assert found.requests == len(model.given) >= 4 * N
    assert {(instruction, name) for instruction, name, _ in model.given} == {
        (DESCRIBE, "writer"), (WRITE, "writer"), (REWRITE, "writer"), (VERIFY[0], "first"), (VERIFY[1], "second")
    }  # fmt: skip
    for question in found.questions:
        assert question.text.startswith(f"Please, As a {question.role} I want ")
        assert question.gold in question.answers
        assert question.candidates <= model_wording.MAX_CANDIDATES
        assert all(one in question.text for one in question.asked)
        assert all(name in question.text for _, name in question.anchors.values())


def test_texts_are_sent_as_json_and_never_in_an_instruction(kb, model):
    made(kb)
    assert {instruction for instruction, _, _ in model.given} == {DESCRIBE, WRITE, REWRITE, *VERIFY}
    assert all("Node" not in instruction for instruction, _, _ in model.given)
    assert {name for _, name, _ in model.given} == {"writer"}


def refusals(kb):
    """What the questions are refused for, where none can be made."""
    with pytest.raises(UserError, match="no question could be made") as caught:
        made(kb)
    return caught.value.hint


REFUSED = [
    (DESCRIBE, {"properties": ["zzz yyy xxx"]}, "properties of the model are not in the text"),
    (DESCRIBE, lambda data: {"properties": [f"of {data['names'][0]}"]}, "or have names"),
    (DESCRIBE, {"properties": []}, "the answer of the model with the properties has another form"),
    (DESCRIBE, {"properties": [1]}, "the answer of the model with the properties has another form"),
    (DESCRIBE, "no JSON", "the answer of the model with the properties has another form"),
    (WRITE, {"question": ["?"]}, "the answer of the model with the question has another form"),
    (WRITE, {"question": "a" * 1001}, "the answer of the model with the question has another form"),
    (REWRITE, {"question": "Which papers?"}, "an anchor is lost"),
    (REWRITE, {"question": ""}, "the answer of the model with the rewording has another form"),
    (VERIFY[0], {"answers": [True] * 99}, "the answer of the model with the verification has another form"),
    (VERIFY[0], lambda data: {"answers": [False] * len(data["records"])}, "the verifier rejects the answer"),
    (VERIFY[1], lambda data: {"answers": [False] * len(data["records"])}, "the verifier rejects the answer"),
    (
        VERIFY[1],
        lambda data: {"answers": ["yes"] * len(data["records"])},
        "the answer of the model with the verification",
    ),
]


@pytest.mark.parametrize("case", sampled(range(len(REFUSED)), 0, 1, 2, 6, 7, 10, 12))
def test_what_is_not_right_refuses_the_question_and_is_counted(kb, model, monkeypatch, case):
    instruction, said, reason = REFUSED[case]
    monkeypatch.setattr("hybridkg.evaluation.synthesis.synthesise.DRAWS", 2)
    monkeypatch.setattr("hybridkg.evaluation.synthesis.synthesise.FAILURES", 1)
    model.says[instruction] = said if callable(said) else lambda data: said
    assert reason in refusals(kb)


GIVEN_UP = {
    "properties": (DESCRIBE, "I'd be glad to\x1b[2J help!"),
    "rewording": (REWRITE, {"text": "Which papers?"}),
    "verification": (VERIFY[1], {"answers": "all"}),
}


@pytest.mark.parametrize("part", sampled(GIVEN_UP, "properties"))
def test_a_model_that_never_answers_in_form_is_given_up_early(kb, model, part):
    instruction, said = GIVEN_UP[part]
    model.says[instruction] = lambda data: said
    with pytest.raises(ModelServerError) as caught:
        made(kb)
    shown = "I'd be glad to [2J help!" if isinstance(said, str) else json.dumps(said)
    assert f"none of 10 answers with the {part}, each requested 2 times, had the wanted form" in caught.value.message
    assert caught.value.message.endswith(f"the last one is: {shown}")
    assert "name another model by --llm or --verifier" in caught.value.hint
    assert sum(one == instruction for one, _, _ in model.given) == 20


def test_a_model_that_has_once_answered_in_form_is_not_given_up(kb, model, monkeypatch):
    monkeypatch.setattr(model_wording, "MAX_UNUSABLE", 2)
    answers = iter([None, *["no"] * 8])
    model.says[DESCRIBE] = lambda data: next(answers, None) or model.describe(data)
    assert len(made(kb).questions) == N


def test_a_question_that_names_its_answer_is_refused(kb, model, monkeypatch):
    monkeypatch.setattr("hybridkg.evaluation.synthesis.synthesise.DRAWS", 2)
    monkeypatch.setattr("hybridkg.evaluation.synthesis.synthesise.FAILURES", 1)
    golds = []
    model.says[DESCRIBE] = lambda data: golds.append(data["names"][0]) or model.describe(data)
    model.says[REWRITE] = lambda data: {"question": f"{data['question']} such as {golds[-1]}"}
    assert "the question names its answer" in refusals(kb)


def test_control_characters_and_line_ends_are_blanks(kb, model):
    model.says[REWRITE] = lambda data: {"question": f"\n{data['question']}\x1b\t?"}
    assert all(question.text.isprintable() for question in made(kb).questions)


def test_a_server_that_fails_is_an_error_without_the_key(kb, model, monkeypatch):
    monkeypatch.setenv("HYBRIDKG_OPENAI_API_KEY", "sk-secret")
    kb.served.faults = [status(401, "no sk-secret")]
    with pytest.raises(ModelServerError, match="401") as caught:
        made(kb)
    assert "sk-secret" not in str(caught.value)


def test_verifiers_need_a_model_that_writes(kb):
    for options in ({"llm": "", "verifiers": ["a"]}, {"llm": "m", "verifiers": ["a", "b", "c"]}):
        with pytest.raises(ParameterError, match="one or two models"):
            synthesise(kb, "stark-mag", 1, **options)


def test_the_command_reports_models_and_requests(kb, model, tmp_path):
    arguments = ["--templates", "stark-mag", "--n", "2", "--llm", "writer", "--out", str(tmp_path / "made")]
    result = CliRunner().invoke(cli, ["synthesise", str(kb.folder), *arguments])
    assert result.exit_code == 0, result.output
    assert "models: writer, writer, writer; " in result.output
    report = json.loads((tmp_path / "made" / "report.json").read_text())
    assert (report["models"], report["requests"]) == (["writer"] * 3, len(model.given))
