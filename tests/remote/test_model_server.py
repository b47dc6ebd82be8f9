"""The client of OpenAI-compatible servers: what it sends, what it waits for, and what it never does."""

from __future__ import annotations

import pytest
from model_server_at_hand import content, dripping, huge, model_server, status

from hybridkg.errors import ConfigError, ModelServerError, QueryStoppedError
from hybridkg.remote import model_server as client
from hybridkg.remote.model_server import ModelServer

KEY = "sk-very-secret-1234"


@pytest.fixture
def served():
    with model_server() as running:
        yield running


class Asking(ModelServer):
    """A client whose pauses are written down and not made."""

    def __init__(self, url, **more):
        self.pauses = []
        environment = more.pop("environment", {})
        super().__init__(url, wait=self.pauses.append, environment=environment, **more)

    def embed(self):
        return self.post("/embeddings", {"model": "m", "input": ["a"]})


def test_a_request_carries_the_key_and_json(served):
    answer = Asking(served.url + "/", environment={client.KEYS[1]: KEY}).embed()
    ((path, headers, body),) = served.asked
    assert (path, body) == ("/v1/embeddings", {"model": "m", "input": ["a"]})
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert len(answer["data"]) == 1


def test_without_a_key_no_header_is_sent(served):
    Asking(served.url).embed()
    assert "Authorization" not in served.asked[0][1]


@pytest.mark.parametrize("code", client.TRANSIENT)
def test_a_server_that_is_busy_is_asked_again_after_longer_and_longer_pauses(served, code):
    served.faults = [status(code), status(code), None]
    asking = Asking(served.url)
    assert asking.embed()["data"]
    assert asking.requests == 3
    assert sum(asking.pauses) == pytest.approx(0.5 + 1.0)


@pytest.mark.parametrize(
    ("said", "pause"), [("3", 3.0), ("0.25", 0.25), ("0", 0.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("soon", 0.5)]
)
def test_the_pause_is_the_one_that_the_server_asks_for(served, said, pause):
    served.faults = [status(429, Retry_After=said)]
    asking = Asking(served.url)
    asking.embed()
    assert sum(asking.pauses) == pytest.approx(pause)


def test_nobody_waits_for_a_server_that_asks_for_an_hour(served):
    served.faults = [status(429, Retry_After="3600")]
    with pytest.raises(ModelServerError, match="asks to wait 3,600 s"):
        Asking(served.url).embed()
    assert len(served.asked) == 1


def test_it_gives_up_after_some_attempts_and_says_what_the_server_said(served):
    served.faults = [status(500, "the model fell over")] * 9
    with pytest.raises(ModelServerError, match="500 5 times: the model fell over"):
        Asking(served.url).embed()
    assert len(served.asked) == client.ATTEMPTS


@pytest.mark.parametrize(("code", "hint"), [(400, ""), (401, "which is not set"), (404, "name right"), (302, "")])
def test_what_waiting_cannot_mend_is_not_asked_again(served, code, hint):
    served.faults = [status(code, "no", Location="http://127.0.0.1:9/")]
    with pytest.raises(ModelServerError, match=f"answers {code}: no") as caught:
        Asking(served.url).embed()
    assert hint in caught.value.hint
    assert len(served.asked) == 1


def test_an_account_without_money_is_not_asked_again(served):
    served.faults = [status(429, f"you have {client.NO_MONEY}")]
    with pytest.raises(ModelServerError, match="answers 429"):
        Asking(served.url).embed()
    assert len(served.asked) == 1


def test_a_body_that_ends_too_early_is_asked_for_again(served):
    served.faults = [content('{"data": [', length=500), None]
    assert Asking(served.url).embed()["data"]
    assert len(served.asked) == 2


@pytest.mark.parametrize("text", ["", "<html>", '{"data": [', "[" * 100_000])
def test_what_is_no_json_is_an_error(served, text):
    served.faults = [content(text)]
    with pytest.raises(ModelServerError, match="answers no JSON"):
        Asking(served.url).embed()


def test_a_server_that_drips_is_left_after_the_timeout(served):
    served.faults = [dripping(30)] * client.ATTEMPTS
    with pytest.raises(ModelServerError, match="does not answer: timed out"):
        Asking(served.url, timeout=0.1).embed()


def test_no_more_is_read_than_an_answer_may_have(served, monkeypatch):
    monkeypatch.setattr(client, "MAX_ANSWER", 1 << 20)
    served.faults = [huge(1 << 30)]
    with pytest.raises(ModelServerError, match="more than 1 MiB"):
        Asking(served.url).embed()


def test_nobody_there():
    with model_server() as gone:
        url = gone.url
    asking = Asking(url)
    with pytest.raises(ModelServerError, match="does not answer") as caught:
        asking.embed()
    assert asking.requests == 1
    assert "is it running?" in caught.value.hint


def test_a_query_that_is_over_its_time_does_not_wait(served):
    served.faults = [status(503, Retry_After="30")]

    def check():
        if served.asked:
            raise QueryStoppedError("over")

    with pytest.raises(QueryStoppedError):
        Asking(served.url, check=check).embed()


def test_so_many_requests_in_a_minute_and_no_more(served):
    asking = Asking(served.url, per_minute=60, clock=lambda: 100.0)
    for _ in range(3):
        asking.embed()
    assert sum(asking.pauses) == pytest.approx(1.0 + 2.0)  # the clock stands, so pauses add up


def test_the_key_is_never_told(served):
    served.faults = [status(400, f"wrong key {KEY}\x1b[31m\nred")]
    asking = Asking(served.url, environment={client.KEYS[0]: KEY})
    with pytest.raises(ModelServerError) as caught:
        asking.embed()
    shown = caught.value.render() + repr(asking)
    assert KEY not in shown
    assert "\x1b" not in shown
    assert "*** [31m red" in shown


def test_a_key_goes_to_no_stranger():
    environment = {client.KEYS[0]: KEY}
    stranger = "https://models.example/v1"
    with pytest.raises(ConfigError, match="says that it is for") as caught:
        ModelServer(stranger, environment=environment)
    assert client.URL in caught.value.hint
    ModelServer(stranger, environment={})
    ModelServer(stranger + "/", environment={**environment, client.URL: stranger})
    with pytest.raises(ConfigError, match="in clear"):
        ModelServer("http://models.example/v1", environment={**environment, client.URL: "http://models.example/v1"})


@pytest.mark.parametrize("url", ["", "ftp://h/v1", "https://", "file:///etc/passwd", "http://h/v1?x=1", "models"])
def test_what_is_no_address(url):
    with pytest.raises(ConfigError, match="address"):
        ModelServer(url, environment={})


def test_an_address_with_a_password_is_refused():
    with pytest.raises(ConfigError, match="carries a user") as caught:
        ModelServer("https://me:pw@h/v1", environment={})
    assert "pw" not in caught.value.render()


def test_a_key_with_a_line_end_is_not_sent(served):
    with pytest.raises(ConfigError, match="blanks or characters"):
        Asking(served.url, environment={client.KEYS[0]: "a\nHost: x"}).embed()
    assert not served.asked
