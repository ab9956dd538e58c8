"""Who is answered: pages of this address, with the token where others can reach it."""

import http.client
import json
import threading
from contextlib import contextmanager

import pytest

from unlatch.workflows.studio.document import new_document
from unlatch.workflows.studio.jobs import Problem
from unlatch.workflows.studio.server import StudioServer, is_local, new_token
from unlatch.workflows.studio.session import PLAN, REACH, SCENE, StudioSession
from unlatch.workflows.viewing.live.page_process import LOCAL_HOST, listen_at


class Refusing:
    """A worker that draws nothing."""

    def do(self, job):
        return Problem("nothing is drawn here")

    def stop(self):
        """Nothing takes long here."""


@contextmanager
def served(token):
    listening = listen_at(LOCAL_HOST, 0)
    session = StudioSession(new_document(["task=open_microwave"]), dict.fromkeys((SCENE, PLAN, REACH), Refusing()))
    server = StudioServer(listening, session, token=token)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        session.close()


@pytest.fixture(scope="module")
def local():
    with served(None) as server:
        yield server


@pytest.fixture(scope="module")
def with_token():
    with served("a-secret") as server:
        yield server


def ask(server, path, *, body=None, **headers):
    """Returns status, headers and content of an answer."""
    port = server.socket.getsockname()[1]
    connection = http.client.HTTPConnection(LOCAL_HOST, port, timeout=30)
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    if body is not None:
        names = {"Content-Type": "application/json", **names}
    connection.request("GET" if body is None else "POST", path, body=body, headers=names)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


def action(name, **values):
    return json.dumps({"action": name, **values})


def test_page_state_and_scene_are_served(local):
    assert "Unlatch Studio" in ask(local, "/")[2]
    assert json.loads(ask(local, "/state.json")[2])["document"]["name"] == "my_open_microwave"
    assert ask(local, "/scene/")[0] == 200
    assert ask(local, "/elsewhere")[0] == 404


def test_an_action_is_done_and_a_wrong_one_is_explained(local):
    assert json.loads(ask(local, "/action", body=action("episode", number=3))[2]) == {}
    assert json.loads(ask(local, "/state.json")[2])["episode"] == 3
    assert "Did you mean 'episode'" in json.loads(ask(local, "/action", body=action("episod"))[2])["error"]
    for wrong in ("no json", "[1]"):
        assert "error" in json.loads(ask(local, "/action", body=wrong)[2])
    assert ask(local, "/")[0] == 200


def test_a_page_of_another_site_can_do_nothing(local):
    foreign = "http://elsewhere.example"
    assert ask(local, "/action", body=action("run"), Origin=foreign)[0] == 403
    assert ask(local, "/scene/", Origin=foreign)[0] == 403
    form = "application/x-www-form-urlencoded"
    assert ask(local, "/action", body=action("run"), Content_Type=form)[0] == 403


def test_another_name_of_this_computer_is_refused(local):
    assert ask(local, "/state.json", Host="elsewhere.example")[0] == 403  # a name that leads here later on
    assert ask(local, "/state.json", Host="localhost:8070")[0] == 200


def test_without_the_token_nothing_is_answered(with_token):
    for path in ("/", "/state.json", "/scene/", "/?token=wrong"):
        assert ask(with_token, path)[0] == 403, path
    assert ask(with_token, "/action", body=action("run"))[0] == 403
    assert ask(with_token, "/state.json", Cookie="unlatch_studio=wrong")[0] == 403


def test_the_scene_is_reached_through_the_page_only_which_asks_for_the_token(with_token):
    assert with_token.scene.get_host() == LOCAL_HOST, "viser has no token of its own"
    opening = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    assert ask(with_token, "/scene/", **opening, Sec_WebSocket_Key=key)[0] == 403


def test_the_printed_address_gives_the_browser_the_token(with_token):
    status, headers, _ = ask(with_token, "/?token=a-secret")
    assert status == 303
    assert headers["Location"] == "/"
    assert "HttpOnly" in headers["Set-Cookie"]
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert ask(with_token, "/", Cookie=cookie)[0] == 200
    assert ask(with_token, "/action", body=action("undo"), Cookie=cookie)[0] == 200


def test_large_requests_are_refused(local):
    connection = http.client.HTTPConnection(LOCAL_HOST, local.socket.getsockname()[1], timeout=30)
    connection.putrequest("POST", "/action")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(3 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_only_loopback_addresses_are_local():
    assert [is_local(host) for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3")] == [True] * 4
    assert [is_local(host) for host in ("0.0.0.0", "192.168.0.7", "elsewhere.example", "")] == [False] * 4
    assert len({new_token() for _ in range(100)}) == 100
