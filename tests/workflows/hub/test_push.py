"""`unlatch export push=...`, against a server that stands in for the Hugging Face Hub."""

import dataclasses
import io
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants
from PIL import Image

import unlatch
from tests.workflows.hub.hub_server import TOKEN, Hub, Repo, serve_hub
from unlatch.simcore.extras import install_command
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.export.lerobot import LeRobotSet
from unlatch.workflows import hub as card
from unlatch.workflows.runs.code_versions import header_of

COMMAND = ["unlatch", "collect", "task=open_drawer", "seed=3", "workers=2", "out=/home/ann/data"]


@pytest.fixture(scope="session")
def two_attempts(tmp_path_factory, drawer_episode) -> Path:
    """A success and a failure."""
    cfg, made = drawer_episode
    out = tmp_path_factory.mktemp("hub") / "set"
    with DataSet.create_or_resume(out, header=header_of(cfg), info={"command": COMMAND}) as found:
        found.write(made)
        found.write(dataclasses.replace(made, number=1, success=False, code="plan_infeasible", arrays={}))
    return out


@pytest.fixture
def hub(monkeypatch, tmp_path) -> Iterator[Hub]:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no_token"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    small = dataclasses.replace(card.CLIP_LOOK, width=16, height=16, fps=1, speed=9.0, renderer="software")
    monkeypatch.setattr(card, "CLIP_LOOK", small)
    monkeypatch.chdir(tmp_path)
    with serve_hub() as found:
        monkeypatch.setattr(constants, "ENDPOINT", found.url)
        yield found


def read_card(hub: Hub, name: str = "ann/drawers") -> tuple[dict, str]:
    """Returns the header and the text of the card of a pushed data set."""
    _, header, body = hub.repos[name].files["README.md"].decode().split("---\n", 2)
    return yaml.safe_load(header), body


def test_the_hub_receives_every_file_and_the_tag_that_lerobot_reads(two_attempts, hub, run_command):
    code, out, err = run_command(
        "export", two_attempts, "out=drawers", "push=lab/drawers", "private=true", "clip=false"
    )
    assert code == 0, err
    assert out.splitlines()[-1] == f"pushed: {hub.url}/datasets/lab/drawers"
    repo = hub.repos["lab/drawers"]
    folder = Path("drawers")
    assert repo.files == {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert {"meta/info.json", "data/chunk-000/file-000.parquet", "README.md"} <= repo.files.keys()
    assert (repo.private, repo.tags) == (True, {"v3.0": f"{1:040x}"})
    assert TOKEN not in out + err
    assert not any(TOKEN.encode() in content for content in repo.files.values())


def test_the_card_states_tasks_robot_counts_success_and_the_command(two_attempts, hub, run_command):
    assert run_command("export", two_attempts, "out=drawers", "push=ann/drawers", "clip=false")[0] == 0
    header, body = read_card(hub)
    exported = LeRobotSet.open("drawers")
    assert header == {
        "license": "apache-2.0",
        "task_categories": ["robotics"],
        "tags": ["LeRobot", "unlatch", "articulated-objects", "simulation", "franka_panda"],
        "configs": [{"config_name": "default", "data_files": "data/*/*.parquet"}],
    }
    assert f"| 1 | {exported.info['total_frames']} | 30 |" in body
    assert f"- {exported.language(0)} (1 episode)" in body
    assert "attempts that succeed: 1/2 = 50.0 % (95 % interval 9.5 to 90.5 %)" in body
    assert "\nunlatch collect task=open_drawer seed=3 episodes=2\n" in body  # without folders of this machine
    assert not [text for text in ("/home/ann", "clip.webp") if text in body]
    assert "## Conventions" in body


@pytest.mark.slow
def test_the_card_shows_a_clip_and_the_licence_of_the_user(two_attempts, hub):
    unlatch.export(two_attempts, out="drawers", push="ann/drawers", license="cc-by-4.0")
    header, body = read_card(hub)
    assert (header["license"], "(clip.webp)" in body) == ("cc-by-4.0", True)
    assert Image.open(io.BytesIO(hub.repos["ann/drawers"].files["clip.webp"])).n_frames > 1


def test_objects_that_unlatch_did_not_generate_leave_the_licence_unknown(hub, tmp_path, drawer_episode):
    cfg, made = drawer_episode
    header = header_of(cfg)
    header["config"]["object"]["source"] = "partnet_mobility"
    with DataSet.create_or_resume(tmp_path / "foreign", header=header) as found:
        found.write(made)
    unlatch.export(tmp_path / "foreign", out="drawers", push="ann/drawers", clip=False)
    assert read_card(hub)[0]["license"] == "unknown"


def test_pushing_again_replaces_the_files_and_moves_the_tag(two_attempts, hub):
    unlatch.export(two_attempts, out="drawers", push="ann/drawers", clip=False)
    repo = hub.repos["ann/drawers"]
    repo.files["data/chunk-000/file-007.parquet"] = b"of an earlier push"
    report = unlatch.export(two_attempts, out="drawers", push="ann/drawers", clip=False)
    assert (report.taken, report.there, report.url) == (0, 1, f"{hub.url}/datasets/ann/drawers")
    assert "data/chunk-000/file-007.parquet" not in repo.files
    assert repo.tags == {"v3.0": f"{2:040x}"}


def test_the_card_of_an_appended_set_has_the_figures_of_both_data_sets(two_attempts, hub, tmp_path, drawer_episode):
    cfg, made = drawer_episode
    with DataSet.create_or_resume(tmp_path / "other", header=header_of(dataclasses.replace(cfg, seed=4))) as found:
        found.write(made)
    unlatch.export(two_attempts, out="both", push="ann/both", clip=False)
    unlatch.export(tmp_path / "other", out="both", append=True, push="ann/both", clip=False)
    _, body = read_card(hub, "ann/both")
    for said in ("attempts that succeed: 1/2 = 50.0 %", "attempts that succeed: 1/1 = 100.0 %", "| 2 |"):
        assert said in body


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ({"token": "other"}, [], "The token is wrong or expired."),
        ({"role": "read"}, [], "The token of the Hugging Face Hub may read only."),
        ({}, ["push=bob/drawers"], "belongs to 'bob', but the token to 'ann', who may write to: ann, lab."),
        ({}, ["push=ann/draw--ers"], "Cannot have -- or .. in repo_id"),
        ({"repos": {"ann/drawers": Repo(False, {"model.bin": b""})}}, [], "push='ann/drawers' is taken"),
        (
            {"repos": {"ann/drawers": Repo(False, {"meta/unlatch.json": b""})}},
            ["private=true"],
            "private=true, but 'ann/drawers' exists and is public.",
        ),
        ({}, ["format=robomimic"], "hf upload ann/drawers OUT --repo-type dataset"),
        ({"refuse": {"whoami": (503, "down")}}, [], "status 503, down. Try again later"),
    ],
)
def test_what_the_hub_would_refuse_is_refused_before_the_export_begins(
    change, words, message, two_attempts, hub, assert_refused
):
    vars(hub).update(change)
    push = [] if any(word.startswith("push=") for word in words) else ["push=ann/drawers"]
    said = assert_refused("export", two_attempts, "out=drawers", *push, *words, text=message, folder=Path.cwd())
    assert TOKEN not in said
    assert not any(request.startswith(("POST", "PUT", "DELETE")) for request in hub.asked)


def test_a_token_that_cannot_be_sent_and_an_unreachable_hub_are_refused(two_attempts, hub, monkeypatch, assert_refused):
    words = ["export", two_attempts, "out=x", "push=ann/x"]
    monkeypatch.delenv("HF_TOKEN")
    assert_refused(*words, text="run `hf auth login`", folder=Path.cwd())
    monkeypatch.setenv("HF_TOKEN", "hf_two words")
    assert "hf_two" not in assert_refused(*words, text="has characters that no token has", folder=Path.cwd())
    assert hub.asked == []
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    text = "cannot be checked on the Hugging Face Hub (http://127.0.0.1:9): "
    assert_refused(*words, text=text, folder=Path.cwd())
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert_refused(*words, text=install_command("hub"), folder=Path.cwd())


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        ("POST /api/repos/create", 403, "The token may not write there."),
        ("commit/", 409, "another upload is running"),
        ("PUT /lfs/", 403, "The token may not write there."),
        ("POST .*tag/", 401, "The token is wrong or expired."),
    ],
)
def test_a_failed_push_keeps_the_export_and_the_same_command_pushes_it(
    request_, status, message, two_attempts, hub, run_command
):
    words = ["export", two_attempts, "out=drawers", "push=ann/drawers", "clip=false"]
    hub.refuse = {request_: (status, f"no, {TOKEN}")}
    code, out, err = run_command(*words)
    last = err.splitlines()[-1]
    assert (code, out.startswith("lerobot: 1 episode")) == (2, True)
    assert message in last
    assert "is complete. To push it, run the same command again" in last
    assert (TOKEN in out + err, "no, (the token)." in last) == (False, True)
    assert len(LeRobotSet.open("drawers")) == 1
    hub.refuse = {}
    code, out, _ = run_command(*words)
    assert (code, out.startswith("lerobot: 0 episodes")) == (0, True)
    assert hub.repos["ann/drawers"].tags == {"v3.0": f"{hub.repos['ann/drawers'].commits:040x}"}


def test_no_traceback_has_the_token(two_attempts, hub, run_command):
    hub.refuse = {"/api/datasets/": (403, f"no, {TOKEN}")}
    code, out, err = run_command("export", two_attempts, "out=drawers", "push=ann/drawers", "--debug")
    assert (code, "Traceback" in err, "(the token)" in err) == (2, True, True)
    assert TOKEN not in out + err
    with pytest.raises(unlatch.HubError) as caught:
        unlatch.export(two_attempts, out="drawers", push="ann/drawers")
    error: BaseException | None = caught.value
    assert (error.__cause__, error.__context__) == (None, None)
    assert TOKEN not in "".join(traceback.format_exception(error))
