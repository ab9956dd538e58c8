"""A stand-in for the Hugging Face Hub: it keeps data sets in memory and answers as the Hub does."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "hf_TheSecretOfAnn"


@dataclass
class Repo:
    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    commits: int = 0


@dataclass
class Hub:
    """State of the server."""

    url: str = ""
    role: str = "write"
    token: str = TOKEN
    repos: dict[str, Repo] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Method and path of every request."""
    refuse: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Status and message for requests whose method and path match a pattern."""


class RefusedError(Exception):
    def __init__(self, status: int, message: str, code: str = "", **content: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.content = {"error": message, **content}


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *_: object) -> None: ...

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        self.hub.asked.append(f"{self.command} {path}")
        try:
            for pattern, (status, message) in self.hub.refuse.items():
                if re.search(pattern, f"{self.command} {path}"):
                    raise RefusedError(status, message)
            if not path.startswith("/lfs/") and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
                # a careless server that sends the request back
                raise RefusedError(401, f"Invalid credentials in {self.headers.get('Authorization')}")
            self.send(200, self.handle_request(path, body))
        except RefusedError as exc:
            self.send(exc.status, exc.content, code=exc.code)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def send(self, status: int, content: Any, code: str = "") -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if code:
            self.send_header("X-Error-Code", code)
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self, path: str, body: bytes) -> Any:
        hub = self.hub
        if path == "/api/whoami-v2":
            return {"name": "ann", "orgs": [{"name": "lab"}], "auth": {"accessToken": {"role": hub.role}}}
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'ann'}/{asked['name']}"
            if name in hub.repos:
                raise RefusedError(409, "You already created this dataset repo", url=f"{hub.url}/datasets/{name}")
            private = asked.get("private", asked.get("visibility") == "private")
            hub.repos[name] = Repo(private=bool(private))
            return {"url": f"{hub.url}/datasets/{name}"}
        if path == "/api/validate-yaml":
            assert json.loads(body)["content"].startswith("---\n")
            return {"errors": [], "warnings": []}
        if path.startswith("/lfs/"):
            assert hashlib.sha256(body).hexdigest() == path.removeprefix("/lfs/")
            hub.blobs[path.removeprefix("/lfs/")] = body
            return {}
        return self.handle_data_set(path, body)

    def handle_data_set(self, path: str, body: bytes) -> Any:
        found = re.fullmatch(r"(?:/api)?/datasets/([\w.-]+/[\w-]+)(?:\.git)?/?(.*)", path)
        assert found, path
        name, action = found.groups()
        repo = self.hub.repos.get(name)
        if repo is None:
            raise RefusedError(404, "Repository not found", code="RepoNotFound")
        if not action or action.startswith("revision/"):
            siblings = [{"rfilename": file} for file in repo.files]
            return {"id": name, "private": repo.private, "siblings": siblings, "sha": f"{repo.commits:040x}"}
        if action.startswith("tree/"):
            return [{"type": "file", "path": p, "size": len(b), "oid": "0" * 40} for p, b in repo.files.items()]
        if action.startswith("preupload/"):
            binary = (".parquet", ".webp", ".mp4")
            modes = [
                {"path": f["path"], "uploadMode": "lfs" if f["path"].endswith(binary) else "regular"}
                for f in json.loads(body)["files"]
            ]
            return {"files": [{**mode, "shouldIgnore": False} for mode in modes]}
        if action == "info/lfs/objects/batch":
            objects = [
                {**item, "actions": {"upload": {"href": f"{self.hub.url}/lfs/{item['oid']}"}}}
                for item in json.loads(body)["objects"]
            ]
            return {"transfer": "basic", "objects": objects}
        if action.startswith("commit/"):
            return self.commit(name, repo, [json.loads(line) for line in body.splitlines()])
        if action.startswith("tag/"):
            if self.command == "DELETE":
                if repo.tags.pop(action.removeprefix("tag/"), None) is None:
                    raise RefusedError(404, "Invalid rev id", code="RevisionNotFound")
                return {}
            repo.tags[json.loads(body)["tag"]] = action.removeprefix("tag/")
            return {}
        raise AssertionError(path)

    def commit(self, name: str, repo: Repo, lines: list[dict[str, Any]]) -> Any:
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                repo.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                repo.files[value["path"]] = self.hub.blobs[value["oid"]]
            elif line["key"] == "deletedFile":
                del repo.files[value["path"]]
            else:
                assert line["key"] == "header"
        repo.commits += 1
        oid = f"{repo.commits:040x}"
        return {"commitOid": oid, "commitUrl": f"{self.hub.url}/datasets/{name}/commit/{oid}", "hookOutput": ""}


@contextmanager
def serve_hub() -> Iterator[Hub]:
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
