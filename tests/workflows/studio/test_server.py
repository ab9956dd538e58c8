"""Who is answered: the page itself, opened at the printed address with its token."""

import http.client
import json
import socket
import threading
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from unlatch.simcore.errors import PluginError
from unlatch.workflows.runs.schema import LOCAL_HOST
from unlatch.workflows.studio.document import new_document
from unlatch.workflows.studio.jobs import PLAN, REACH, SCENE, JobProblem
from unlatch.workflows.studio.server import StudioServer
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.viewing import scene_nodes as viser_scene
from unlatch.workflows.viewing.page_server import is_local, listen_at, opened_in_browser

SCENE_PATH = "/scene/"


class Refusing:
    """A worker that draws nothing."""

    def do(self, job):
        return JobProblem("nothing is drawn here")

    def stop(self):
        """Nothing takes long here."""


@pytest.fixture(scope="module")
def server():
    listening = listen_at(LOCAL_HOST, 0)
    session = StudioSession(new_document(["task=open_microwave"]), dict.fromkeys((SCENE, PLAN, REACH), Refusing()))
    server = StudioServer(listening, session, token="a-secret")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
    session.close()


def ask(server, path, *, body=None, knows=True, port=None, **headers):
    """Returns status, headers and content of an answer; the asker `knows` the token as a browser does, or not."""
    connection = http.client.HTTPConnection(LOCAL_HOST, port or server.server_address[1], timeout=30)
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    if knows:
        names = {"Cookie": f"{server.cookie}=a-secret", **names}
    if body is not None:
        names = {"Content-Type": "application/json", **names}
    connection.request("GET" if body is None else "POST", path, body=body, headers=names)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


WEB_SOCKET = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec_WebSocket_Protocol": f"viser-v{version('viser')}",
}


def web_socket_status(server, *, port=None, **headers):
    """Returns the status of the answer to a request for the web socket of the scene: 101 if it is opened."""
    names = {key.replace("_", "-"): value for key, value in {**WEB_SOCKET, **headers}.items()}
    lines = [f"GET {SCENE_PATH if port is None else '/'} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in names.items()]
    with socket.create_connection((LOCAL_HOST, port or server.server_address[1]), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(connection.makefile("rb").readline().split()[1])


def action(name, **values):
    return json.dumps({"action": name, **values})


def test_page_state_and_scene_are_served(server):
    assert "Unlatch Studio" in ask(server, "/")[2]
    assert json.loads(ask(server, "/state.json")[2])["document"]["name"] == "my_open_microwave"
    assert ask(server, "/scene/")[0] == 200
    assert ask(server, "/elsewhere")[0] == 404


def test_an_action_is_done_and_a_wrong_one_is_explained(server):
    assert json.loads(ask(server, "/action", body=action("episode", number=3))[2]) == {}
    assert json.loads(ask(server, "/state.json")[2])["episode"] == 3
    assert "Did you mean 'episode'" in json.loads(ask(server, "/action", body=action("episod"))[2])["error"]
    for wrong in ("no json", "[1]"):
        assert "error" in json.loads(ask(server, "/action", body=wrong)[2])
    assert ask(server, "/")[0] == 200


RUN = json.dumps({"action": "run"})
FOREIGN = {"Origin": "http://elsewhere.example"}
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("path", "request_", "status"),
    [
        ("/action", {"body": RUN, **FOREIGN}, 403),  # a page of another site
        ("/scene/", FOREIGN, 403),
        ("/action", {"body": RUN, "Content_Type": FORM}, 415),
        ("/state.json", {"Host": "elsewhere.example"}, 403),  # a foreign name that leads to this computer
        ("/state.json", {"Host": "127.0.0.1.elsewhere.example:8070"}, 403),
        ("/state.json", {"Host": "["}, 403),
        ("/state.json", {"Host": "localhost:8070"}, 200),  # a port that ssh forwards
        ("/state.json", {"Host": "127.0.0.1"}, 200),
        ("/state.json", {"Host": "[::1]:1"}, 200),
        ("/", {"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Dest": "empty"}, 200),
        ("/", {"Sec_Fetch_Site": "none", "Sec_Fetch_Dest": "document"}, 200),
        ("/", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "document"}, 200),  # a link was followed
        ("/", {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Dest": "iframe"}, 403),  # another port of this computer
        ("/", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "image"}, 403),
        ("/", {"Origin": "null"}, 403),
        ("/", {"Origin": "http://127.0.0.1:1"}, 403),
        ("/scene/", {"X_Unlatch_Secret": "wrong"}, 200),  # the secret of the page takes its place
    ],
)
def test_only_the_page_itself_and_links_are_answered(server, path, request_, status):
    assert ask(server, path, **request_)[0] == status


@pytest.mark.parametrize("cookie", ["{name}=wrong", "{name}=", "unlatch_1=a-secret", "\xe4=1; {name}=\xe4", "{name}"])
@pytest.mark.parametrize(("path", "body"), [("/state.json", None), ("/action", RUN)])
def test_a_wrong_cookie_is_no_token(server, cookie, path, body):
    assert ask(server, path, body=body, Cookie=cookie.format(name=server.cookie))[0] == 403


def test_the_scene_and_viser_itself_answer_nobody_but_the_page(server):
    cookie, port = f"{server.cookie}=a-secret", server.scene.get_port()
    assert web_socket_status(server) == 403
    assert web_socket_status(server, Cookie=cookie, **FOREIGN) == 403
    assert web_socket_status(server, Cookie=cookie, Origin="http://127.0.0.1") == 101
    for secret in ({}, {"X_Unlatch_Secret": "wrong"}, {"X_Unlatch_Secret": "\xe4"}):
        assert ask(server, "/", port=port, **secret)[0] == 403
    assert web_socket_status(server, port=port) == 403
    assert web_socket_status(server, port=port, X_Unlatch_Secret=server.viser_secret) == 101


@pytest.mark.parametrize(
    "path", ["/", "/state.json", "/scene/", "/?token=wrong", "/?token=%ff", "/?token=", "/elsewhere"]
)
def test_without_the_token_a_page_says_what_to_open(server, path):
    status, headers, content = ask(server, path, knows=False)
    assert status == 403
    assert headers["Content-Type"].startswith("text/html")
    assert "Open the whole address that the command has printed" in content


def test_an_action_without_the_token_changes_nothing(server, tmp_path):
    target = tmp_path / "task" / "stolen.yaml"
    status, _, content = ask(server, "/action", body=action("save", path=str(target)), knows=False)
    assert status == 403
    assert "Open the whole address" in content
    assert ask(server, "/action?token=a-secret", body=action("save", path=str(target)), knows=False)[0] == 403
    assert not target.exists()


def test_the_printed_address_gives_the_browser_the_token(server):
    status, headers, _ = ask(server, "/?token=a-secret", knows=False)
    assert status == 303
    assert headers["Location"] == "/"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "HttpOnly" in headers["Set-Cookie"]
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert ask(server, "/", knows=False, Cookie=cookie)[0] == 200
    assert ask(server, "/action", body=action("undo"), knows=False, Cookie=cookie)[0] == 200


def test_two_pages_of_one_computer_have_cookies_of_their_own(server):
    assert server.cookie.endswith(str(server.server_address[1])), "a browser sends a cookie to every port of a computer"


def test_large_requests_are_refused(server):
    connection = http.client.HTTPConnection(LOCAL_HOST, server.server_address[1], timeout=30)
    connection.putrequest("POST", "/action")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Cookie", f"{server.cookie}=a-secret")
    connection.putheader("Content-Length", str(3 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_only_loopback_addresses_are_local():
    assert [is_local(host) for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3")] == [True] * 4
    assert [is_local(host) for host in ("0.0.0.0", "192.168.0.7", "elsewhere.example", "")] == [False] * 4


def test_a_browser_gets_a_file_with_the_address_and_no_argument_with_the_token(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with opened_in_browser("http://127.0.0.1:8070/?token=a-secret"):
        file = Path(opened[0].removeprefix("file://"))
        assert "a-secret" not in opened[0]
        assert "url=http://127.0.0.1:8070/?token=a-secret" in file.read_text()
        assert file.parent.stat().st_mode & 0o077 == 0
    assert not file.exists()


def test_a_viser_that_would_answer_everybody_is_not_started(monkeypatch):
    monkeypatch.setattr(viser_scene.import_viser(), "ViserServer", lambda **_: SimpleNamespace(stop=lambda: None))
    with pytest.raises(PluginError, match=r"every user of this computer.*pip install 'viser==1\.1\.1'"):
        viser_scene.start_viser()


def test_the_token_leads_to_the_rest_of_the_address_on_this_server_only(server):
    for path, location in [
        ("/state.json?since=3&token=a-secret", "/state.json?since=3"),
        ("//elsewhere.example/?token=a-secret", "/elsewhere.example/"),
    ]:
        status, headers, _ = ask(server, path, knows=False)
        assert (status, headers["Location"]) == (303, location)
