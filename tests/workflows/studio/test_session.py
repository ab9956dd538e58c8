"""What the controls of the page do, with workers that answer at once."""

import base64
import time
from dataclasses import replace

import numpy as np
import pytest

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.config import ObjectCfg
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.tasks.task import RegionCfg, TaskCfg
from unlatch.workflows.studio import jobs
from unlatch.workflows.studio.document import new_document, read_tree, value_at
from unlatch.workflows.studio.jobs import (
    PLAN,
    REACH,
    RUN,
    SCENE,
    JobProblem,
    PlanResult,
    RunAnswer,
    ShownPlan,
    ShownScene,
    ShownSegment,
)
from unlatch.workflows.studio.page_state import describe_plan, problem_line
from unlatch.workflows.studio.session import StudioSession

REGION = {"object": "${object.name}", "center_m": [0.68, 0.0], "half_extent_m": [0.1, 0.1], "yaw_deg": 25.0}
KEY = "skills[0].planner_setting.constraint_list[0]"
SKILL = {
    "name": "open",
    "planner_setting": {"constraint_list": [{"type": "point2point_constraint", "tolerance": 0.002}]},
}
BASE = {"task": {"name": "open_microwave", "regions": [REGION]}, "skills": [SKILL]}
CAMERA = jobs.ShownCamera("front", np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), 1.0, 1.5)
WAIT_S = 10.0


def scene_of(job):
    tree = read_tree(job.task.text)
    regions = value_at(tree, ("task", "regions")) or [REGION]
    cfg = EpisodeCfg(
        task=TaskCfg(name="mine", regions=[RegionCfg(**{**region, "object": "microwave"}) for region in regions]),
        object=ObjectCfg(name="microwave", category="microwave"),
        robot=RobotCfg(name="franka_panda"),
    )
    return ShownScene(cfg, job.task.episode, 2**62 + 1, {}, {}, {}, ("microwave: procedural",))


def plan_of(job, *, found):
    contradiction = {"constraints": ["a"], "indices": [0], "message": "'a' and 'b' contradict each other"}
    return ShownPlan(
        arm="left",
        skill="open",
        key="skills[0]",
        object="microwave",
        part="door",
        joint="hinge",
        strategy="given",
        found=found,
        code="" if found else "plan_infeasible",
        message="" if found else "no pose",
        lines=("no plan",),
        residuals=({"name": "a", "value": 0.5, "tolerance": 0.1, "unit": "rad", "satisfied": False},),
        contradictions=() if found else (contradiction,),
        remedies=(),
        refused=(),
        timings_ms={"total": 3.0},
        compromise=None,
        keyframes=(),
        segments=(ShownSegment("transit", np.zeros((31, 7)), None, np.zeros((31, 3))),) if found else (),
    )


class Worker:
    """Answers like a worker; a task whose text says so has a mistake, or no plan."""

    def __init__(self):
        self.jobs = []

    def do(self, job):
        self.jobs.append(job)
        if "wrong: true" in job.task.text:
            return JobProblem("task.wrong is unknown.", "task.wrong")
        if job.kind == SCENE:
            constraint = {"key": KEY, "label": "point2point_constraint", "tolerance": 0.002, "unit": "m"}
            skill = {"key": "skills[0]", "name": "open", "object": "microwave", "part": "door", "settings": {}}
            skill |= {"strategies": ["given"], "constraints": [constraint]}
            part = {"object": "microwave", "part": "door", "joint": "hinge", "unit": "rad", "closed": 0.0, "open": 1.5}
            part["position"] = 0.0
            cameras = (CAMERA,) if "camera" in job.task.text else ()
            return jobs.SceneResult(scene_of(job), BASE, (skill,), (part,), cameras, (), 0.1)
        if job.kind == jobs.CHECK:
            key = "skills[0].planner_setting.constraint_list" if "in_list" in job.task.text else "task.name"
            refused = JobProblem("'a' and 'b' contradict each other.", key)
            return refused if "no_plan" in job.task.text else None
        if job.kind == PLAN:
            plan = plan_of(job, found="no_plan" not in job.task.text)
            return PlanResult(scene_of(job), (plan,), plan.found, 0.1)
        if job.kind == RUN:
            return RunAnswer(scene_of(job).cfg, EpisodeRecord(job.task.episode, 1, False, code="timeout"), 0.1)
        if job.kind == jobs.VIEW:
            return jobs.ViewResult({"front": b"seen"})
        assert job.kind == REACH
        return jobs.ReachResult(job.region.center_m[0] < 0.65, "path_infeasible", "too far")

    def stop(self):
        """Nothing takes long here."""


@pytest.fixture
def session():
    workers = {kind: Worker() for kind in (SCENE, PLAN, REACH)}
    made = StudioSession(new_document(["task=open_microwave"]), workers)
    wait(made, lambda state: state["scene"] and state["plan"])
    yield made
    made.close()


def wait(session, condition):
    """Waits until the state fulfils a condition and nothing is under way; returns it."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        state = session.to_dict()
        if condition(state) and not state["busy"]:
            return state
        time.sleep(0.002)
    raise AssertionError(session.to_dict())


def set_region(session, key, value):
    """Sets a value of the region, and waits until the scene shows it."""
    session.act("set", {"path": ["task", "regions", 0, key], "value": value})
    return wait(session, lambda state: state["scene"]["regions"][0][key] == value)


def run(session):
    session.act("run", {})
    return wait(session, lambda state: state["run"])


def turn(session, yaw_deg):
    return set_region(session, "yaw_deg", yaw_deg)


def set_tolerance(session, value):
    session.act("set", {"path": ["skills", 0, "planner_setting", "constraint_list", 0, "tolerance"], "value": value})


def test_a_value_is_set_drawn_and_planned_again(session):
    state = set_region(session, "center_m", [0.6, 0.1])
    assert "center_m: [0.6, 0.1]" in state["document"]["text"]
    assert (state["plan"]["found"], state["plan_is_old"]) == (True, False)
    assert [plan["object"] for plan in state["plan"]["plans"]] == ["microwave"]
    session.act("auto_plan", {"on": False})
    assert turn(session, 5.0)["plan_is_old"]
    session.act("plan", {})
    wait(session, lambda state: not state["plan_is_old"])


def test_undo_shows_the_scene_before_the_change(session):
    turn(session, 5.0)
    session.act("undo", {})
    state = wait(session, lambda state: state["scene"]["regions"][0]["yaw_deg"] == 25.0)
    assert "regions" not in state["document"]["text"]
    assert state["document"]["can_redo"]
    session.act("redo", {})
    wait(session, lambda state: state["scene"]["regions"][0]["yaw_deg"] == 5.0)


def test_a_tolerance_in_the_base_task_is_written_with_its_whole_list(session):
    set_tolerance(session, 0.01)
    text = wait(session, lambda state: "tolerance" in state["document"]["text"])["document"]["text"]
    assert read_tree(text)["skills"][0]["planner_setting"]["constraint_list"][0]["tolerance"] == 0.01


def test_a_mistake_in_the_yaml_has_its_line_and_the_scene_stays(session):
    session.act("text", {"text": "task:\n  name: [mine\n"})
    state = wait(session, lambda state: state["problem"])
    assert (state["problem"]["line"], state["scene"] is not None, state["busy"]) == (3, True, {})
    with pytest.raises(ConfigError, match="cannot be read in line 3"):
        session.act("set", {"path": ["seed"], "value": 1})


def test_a_wrong_key_has_its_line_and_the_task_is_not_saved(session, tmp_path):
    session.act("text", {"text": "task:\n  name: mine\n  wrong: true\n"})
    state = wait(session, lambda state: state["problem"])
    assert state["problem"] == {"message": "task.wrong is unknown.", "line": 3}
    with pytest.raises(ConfigError, match=r"Not saved.*task.wrong is unknown"):
        session.act("save", {"path": str(tmp_path / "task" / "mine.yaml")})
    assert list(tmp_path.iterdir()) == []


def test_the_line_of_an_unknown_file_is_that_of_its_choice():
    text = "defaults:\n  - open_microwave\n  - override /robot: pandaa\n"
    assert problem_line(text, JobProblem("Unknown robot 'pandaa'.", "robot")) == 3
    assert problem_line(text, JobProblem("something else", "seed")) is None


def test_a_diagnosis_marks_the_constraints_that_contradict_and_is_told_once(session):
    session.act("text", {"text": session.document.text + "# no_plan\n"})
    state = wait(session, lambda state: not state["plan"]["found"])
    (plan,) = state["plan"]["plans"]
    assert (plan["code"], plan["contradicting"]) == ("plan_infeasible", [0])
    assert state["problem"]["line"] == 6, "commands refuse it, but its scene is drawn"
    assert not state["plan_tells_problem"], "what is refused is not in a list of constraints"
    session.act("text", {"text": session.document.text + "# no_plan in_list\n"})
    state = wait(session, lambda state: state["problem"] and not state["plan_is_old"])
    assert state["plan_tells_problem"]
    session.act("auto_plan", {"on": False})
    session.act("episode", {"number": 1})
    assert not session.to_dict()["plan_tells_problem"], "the plan is of another episode"


def test_the_next_instance_is_the_next_episode(session):
    session.act("episode", {"number": 7})
    state = wait(session, lambda state: state["scene"]["episode"] == 7)
    assert state["scene"]["seed"] == str(2**62 + 1), "a browser rounds such numbers"
    for wrong in (-1, 1.5, "one"):
        with pytest.raises(ConfigError, match="out of range"):
            session.act("episode", {"number": wrong})


def test_the_clock_plays_the_plan_to_its_last_frame(session):
    session.act("clock", {"of": "plan", "playing": True})
    assert session.to_dict()["clock"] == {"of": "plan", "frame": 0, "playing": True, "length": 31}
    for frames, clock in ((12, (12, True)), (100, (30, False))):
        session.tick(frames)
        assert (session.clock.frame, session.clock.playing) == clock
    session.act("clock", {"of": "plan", "playing": True})
    assert session.clock.frame == 0, "it begins anew"
    session.act("clock", {"of": "run"})
    assert session.clock.of == "scene", "there is no run"


def test_the_clock_goes_through_every_skill_of_a_chain(session):
    job = session.runners[PLAN].jobs[-1]
    first = plan_of(job, found=True)
    second = replace(plan_of(job, found=True), skill="close", stage=1)
    longer = ShownSegment("follow", np.zeros((40, 7)), None, np.zeros((40, 3)))
    other = replace(first, skill="hold", arm="right", segments=(longer,))
    plan = PlanResult(scene_of(job), (first, other, second), True, 0.1)
    assert plan.stage_frames() == [40, 31]
    assert [plan.moment(frame) for frame in (0, 39, 40, 70)] == [(0, 0), (0, 39), (1, 0), (1, 30)]
    spans = describe_plan(plan)["spans"]
    assert [(span["skill"], span["first"], span["last"]) for span in spans] == [("hold", 0, 39), ("close", 40, 70)]
    assert PlanResult(scene_of(job), (), False, 0.1).moment(0) == (0, 0)


def show_camera(session):
    session.act("text", {"text": session.document.text + "camera: {name: mine}\n"})
    return wait(session, lambda state: state["views"])


def test_cameras_look_after_each_edit_and_only_where_they_are_shown(session):
    worker = session.runners[REACH]
    assert session.to_dict()["views"] == {}
    assert worker.jobs == [], "without a camera, nothing is drawn"
    state = show_camera(session)
    assert state["views"]["front"] == "data:image/webp;base64," + base64.b64encode(b"seen").decode()
    count = len(worker.jobs)
    session.act("clock", {"of": "scene"})
    wait(session, lambda state: True)
    assert len(worker.jobs) == count, "nothing has changed"
    session.act("show", {"cameras": False})
    turn(session, 5.0)
    assert len(worker.jobs) == count
    session.act("show", {"cameras": True})
    wait(session, lambda state: len(worker.jobs) > count)


def test_cameras_look_again_where_a_run_has_played_to_its_end(session):
    assert show_camera(session)["views_moment"] == "at the start"
    run(session)
    frames = {"objects.microwave.joint_positions": np.zeros((61, 1))}
    with session.changed:
        session.run = RunAnswer(session.run.cfg, EpisodeRecord(0, 1, True, arrays=frames), 0.1)
    session.act("clock", {"of": "run", "frame": 0, "playing": True})
    session.tick(20)
    assert session.clock.playing
    assert session.views_moment == "at the start", "it plays"
    session.tick(60)
    with session.changed:
        session.changed.wait_for(lambda: session.views_moment != "at the start", timeout=WAIT_S)
    assert session.views_moment == "at 2.00 s of the run"


def test_an_episode_is_run_and_its_verdict_is_shown(session):
    heard = []
    session.listeners.append(heard.append)
    state = run(session)
    assert {RUN, "busy"} <= set(heard)
    assert (state["run"]["outcome"], state["run"]["success"], state["run_is_old"]) == ("timeout", False, False)
    assert turn(session, 5.0)["run_is_old"]


def test_the_reach_is_mapped_only_where_it_is_shown_and_kept_for_a_moved_region(session):
    worker = session.runners[REACH]
    assert worker.jobs == []
    session.act("show", {"reach": True})
    (found,) = wait(session, lambda state: state["reach"] and state["reach"][0]["is_done"])["reach"]
    assert 0 < found["plan"] < found["known"] == found["places"]
    assert found["codes"].keys() == {"path_infeasible"}
    tried = len(worker.jobs)
    set_region(session, "center_m", [0.7, 0.0])
    wait(session, lambda state: state["reach"][0]["is_done"])
    assert len(worker.jobs) - tried < tried
    set_tolerance(session, 0.01)
    before = len(worker.jobs)
    wait(session, lambda state: state["reach"] and state["reach"][0]["is_done"] and len(worker.jobs) > before)


def test_a_saved_task_names_the_command_that_collects_it(session, tmp_path):
    session.act("save", {"path": str(tmp_path / "task" / "mine.yaml")})
    message = session.to_dict()["document"]["message"]
    assert f"unlatch collect task=mine --config-dir {tmp_path}" in message
    assert (tmp_path / "task" / "mine.yaml").read_text() == session.document.text


def test_nothing_of_the_task_before_is_shown_for_a_file_that_cannot_be_read(session, tmp_path):
    run(session)
    file = tmp_path / "task" / "mine.yaml"
    file.parent.mkdir()
    file.write_text("task:\n  wrong: true\n")
    session.act("open", {"path": str(file)})
    state = wait(session, lambda state: state["problem"])
    assert state["problem"]["line"] == 2
    assert [state[key] for key in ("scene", "plan", "run")] == [None] * 3
    with pytest.raises(ConfigError, match="has not been read yet"):
        session.act("set", {"path": ["task", "regions", 0, "yaw_deg"], "value": 5.0})
    session.act("text", {"text": "# @package _global_\n"})
    assert not wait(session, lambda state: state["scene"])["scene_is_old"]


def test_planning_again_reads_a_task_again_whose_process_was_killed(session):
    worker = session.runners[SCENE]
    do = worker.do
    worker.do = lambda job: JobProblem("The process has ended. Try again.")
    session.act("episode", {"number": 1})
    assert "Try again" in wait(session, lambda state: state["problem"])["problem"]["message"]
    worker.do = do
    session.act("plan", {})
    state = wait(session, lambda state: state["scene"]["episode"] == 1)
    assert (state["problem"], state["scene_is_old"]) == (None, False)


def test_an_answer_about_a_task_that_was_closed_is_dropped(session, tmp_path):
    document, plan = session.document, session.plan
    session.act("save", {"path": str(tmp_path / "task" / "mine.yaml")})
    session.act("open", {"path": str(tmp_path / "task" / "mine.yaml")})
    wait(session, lambda state: state["scene"] and state["plan"])
    before = session.plan
    session._receive(document, jobs.StudioJob(PLAN, session._task_text()), plan)
    assert session.plan is before


@pytest.mark.parametrize(
    ("action", "values", "message"),
    [
        ("plam", {}, "Did you mean 'plan'"),
        ("set", {"path": ["seed"]}, "cannot be done"),
        ("show", {"shadows": True}, "Nothing is called 'shadows'"),
        ("write_setting", {"skill": "skills[0]", "strategy": "bar"}, "no derived setting 'bar'"),
        ("__init__", {}, "There is no action"),
    ],
)
def test_a_wrong_action_is_explained_and_changes_nothing(session, action, values, message):
    before = session.to_dict()["document"]
    with pytest.raises(ConfigError, match=message):
        session.act(action, values)
    assert session.to_dict()["document"] == before
