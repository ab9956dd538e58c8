"""One picture of what happened in an episode: which moments are on it, and that they are those of the record."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from tests.objects.builders import generated
from unlatch.simcore.errors import count_noun
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.urdf.model import movable_joints
from unlatch.skills.commands import Phase
from unlatch.tasks.language import Manner, PartWords
from unlatch.workflows.viewing import phase_sheet as phase_pictures
from unlatch.workflows.viewing.best_view import find_acted_part
from unlatch.workflows.viewing.phase_moments import SkillRound, find_rounds, part_openings, with_what_frees
from unlatch.workflows.viewing.phase_sheet import TILE_PX, Curve, PhaseSheet, Section, Tile, draw_sheet, fitting_font
from unlatch.workflows.viewing.scene_picture import open_record

ONE_ROUND = [
    *((Phase.transit, 10), (Phase.approach, 4), (Phase.grasp, 5), (Phase.follow, 10), (Phase.release, 3)),
    (Phase.retreat, 4),
]
SETTLED = [*ONE_ROUND, (Phase.settle, 5)]


def record(*runs: tuple[int, Phase, int], code: str | None = None, frame: int | None = None) -> EpisodeRecord:
    """An episode of runs of (skill, phase, frames), after 6 idle frames; the hand moves by 1 cm a frame."""
    runs = ((-1, Phase.idle, 6), *runs)
    index = np.repeat([run[0] for run in runs], [run[2] for run in runs])
    phase = np.repeat([run[1].value for run in runs], [run[2] for run in runs])
    return EpisodeRecord(
        number=0,
        seed=0,
        success=code is None,
        code=code,
        evidence={} if frame is None else {"frame": frame, "message": "It failed"},
        arrays={
            "time": np.arange(len(index)) / 30.0,
            "skills.index": index,
            "skills.phase": phase,
            "robots.r.left.joint_positions": np.zeros((len(index), 7)),
            "robots.r.left.tcp_position": 0.01 * np.arange(len(index))[:, None] * [1.0, 0.0, 0.0],
        },
    )


def of_skill(*runs: tuple[Phase, int], skill: int = 0) -> list[tuple[int, Phase, int]]:
    return [(skill, *run) for run in runs]


def labels(skill_round: SkillRound) -> list[str]:
    return [moment.label for moment in skill_round.moments]


def frames(skill_round: SkillRound) -> list[int]:
    return [moment.frame for moment in skill_round.moments]


def test_each_phase_is_shown_at_its_end_and_follow_in_thirds():
    (skill_round,) = find_rounds(record(*of_skill(*SETTLED)))
    follow = ["follow 1/3", "follow 2/3", "follow 3/3"]
    assert labels(skill_round) == ["transit", "approach", "grasp", *follow, "release", "retreat", "settle"]
    assert frames(skill_round) == [15, 19, 24, 28, 31, 34, 37, 41, 46]
    assert (skill_round.skill, skill_round.number, skill_round.count) == (0, 1, 1)
    assert find_rounds(record(code="plan_infeasible", frame=5)) == [], "no arm moved"


def test_skills_of_a_chain_follow_one_another_and_one_that_moves_nothing_is_left_out():
    runs = [(Phase.transit, 5), (Phase.follow, 5)]
    found = find_rounds(record(*of_skill(*runs, skill=1), *of_skill(*runs, skill=2)))
    assert [skill_round.skill for skill_round in found] == [1, 2]


def test_later_rounds_of_a_skill_show_less():
    first, second = find_rounds(record(*of_skill(*ONE_ROUND, *SETTLED)))
    assert (first.number, first.count, second.number, second.count) == (1, 2, 2, 2)
    assert len(first.moments) == 8
    assert labels(second) == ["approach", "grasp", "follow 1/3", "follow 2/3", "follow 3/3", "retreat", "settle"]


def test_the_moments_around_a_failure_follow_the_round_in_which_it_happened():
    before, failure = find_rounds(record(*of_skill(*SETTLED), code="collision", frame=31))
    assert labels(before) == ["transit", "approach", "grasp"]  # the others are those of the failure
    assert (before.failed_phase, failure.failed_phase) == (None, Phase.follow)
    assert frames(failure) == [25, 28, 31, 46]
    assert labels(failure) == ["0.2 s before", "0.1 s before", "collision", "0.5 s after"]
    assert [moment.failed for moment in failure.moments] == [False, False, True, False]


def test_a_missed_grasp_fails_in_the_phase_that_ended_and_is_shown_from_its_beginning():
    runs = of_skill((Phase.transit, 10), (Phase.approach, 4), (Phase.grasp, 20), (Phase.follow, 1))
    missed = record(*runs, code="grasp_missed", frame=40)
    missed.arrays["robots.r.left.tcp_position"][20:] = 0.2
    missed.arrays["robots.r.left.gripper_opening"] = np.interp(np.arange(41), [20, 39], [0.08, 0.0])[:, None]
    before, failure = find_rounds(missed)
    assert labels(before) == ["transit", "approach"]
    assert (failure.failed_phase, frames(failure)) == (Phase.grasp, [20, 30, 40])


def test_a_slipped_part_is_shown_from_its_last_contact():
    slipped = record(*of_skill(*ONE_ROUND[:3], (Phase.follow, 36)), code="slipped", frame=60)
    slipped.evidence["frames_without_contact"] = 15
    _, failure = find_rounds(slipped)
    assert (frames(failure)[0], labels(failure)[0], labels(failure)[-1]) == (45, "last contact", "slipped")


def test_a_failure_in_which_nothing_moves_any_more_is_shown_from_the_last_motion():
    blocked = record((0, Phase.transit, 10), (0, Phase.follow, 100), code="motion_blocked", frame=115)
    position = np.interp(np.arange(116), [0, 40], [0.0, 0.4])
    blocked.arrays["robots.r.left.tcp_position"] = np.stack([position, 0 * position, 0 * position], axis=1)
    _, failure = find_rounds(blocked)
    assert frames(failure)[0] == 37


def test_a_failure_belongs_to_the_round_in_which_it_happened_and_to_the_phase_that_its_evidence_names():
    made = record(*of_skill(*ONE_ROUND, *ONE_ROUND), code="slipped", frame=66)
    rounds = find_rounds(made)
    assert [(item.number, item.failed_phase is None) for item in rounds] == [(1, True), (2, True), (2, False)]
    made.evidence["phase"] = "retreat"
    assert find_rounds(made)[-1].failed_phase is Phase.retreat


def test_states_with_infinite_values_are_not_shown():
    diverged = record((0, Phase.transit, 10), (0, Phase.approach, 10), code="diverged", frame=20)
    diverged.arrays["robots.r.left.joint_positions"][18:] = np.nan
    rounds = find_rounds(diverged)
    assert max(moment.frame for item in rounds for moment in item.moments) == 17
    assert labels(rounds[-1])[-1] == "diverged"


def test_stages_of_a_policy_are_shown_at_equally_spaced_frames():
    made = record((1, Phase.idle, 20), (2, Phase.idle, 30), code="collision", frame=41)
    made.skills = [{"frame_start": a, "frame_end": b} for a, b in ((6, 6), (6, 26), (26, 55))]
    first, second, failure = find_rounds(made)
    assert (first.skill, second.skill, failure.skill) == (1, 2, 2)
    assert frames(first) == [10, 14, 18, 22, 26]
    assert frames(second) == [31, 37, 43, 49, 55]
    assert (failure.failed_phase, labels(failure)[-2:]) == (Phase.idle, ["collision", "0.5 s after"])


def title_of(entry: dict[str, Any], asset: Any = None) -> str:
    """Returns the title of a round of a skill with this entry, which acts on an object."""
    made = record((0, Phase.transit, 10), (0, Phase.approach, 10))
    scene = SimpleNamespace(objects={"box": SimpleNamespace(asset=asset)})
    shown = SimpleNamespace(record=made, episode=SimpleNamespace(scene=scene))
    (skill_round,) = find_rounds(made)
    return phase_pictures._section_title(shown, skill_round, {"object": "box", **entry})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategy": "hook"}, "open: box, strategy hook, grip 30 N"),
        ({"strategy": None}, "open: box, grip 30 N"),
        ({"strategy": "drag", "press_force_n": 23.6}, "open: box, strategy drag, press 24 N"),
        ({"name": "home", "arm": "left", "strategy": "given", "goes_home": True}, "home, left arm"),
    ],
)
def test_the_title_of_a_round_names_the_strategy_and_the_force_of_the_hand(monkeypatch, changes, said):
    monkeypatch.setattr(phase_pictures, "part_words", lambda *_: PartWords("box", "lid", "", Manner.lift))
    assert title_of({"name": "open", "part": None, "grip_force_n": 30.0, **changes}) == said


@pytest.mark.parametrize(
    ("category", "s0", "said"),
    [
        ("button_microwave", 0.0, "press: button of the microwave"),
        ("button_microwave", 0.5, "close: door of the microwave"),
        ("push_latch_cabinet", 0.0, "press: door of the cabinet"),
        ("pedal_bin", 0.3, "press: pedal of the bin"),
        ("microwave", 0.0, "close: door of the microwave"),
    ],
)
def test_the_title_of_a_round_names_what_is_pressed(category, s0, said):
    entry = {"name": "close", "part": "pedal" if category == "pedal_bin" else "door", "s0": s0, "s_closed": 0.0}
    assert title_of(entry, generated(category, 1)) == said


def test_a_hand_that_holds_a_fixed_handle_is_shown_at_the_handle():
    entry = {"name": "hold", "arm": "right", "part": "lid", "link": "box", "object": "box"}
    asset = generated("light_box", 1)
    assert title_of(entry, asset) == "hold, right arm: handle of the box"
    arm = SimpleNamespace(name="right", cfg=SimpleNamespace(gripper=SimpleNamespace(finger_links=["finger"])))
    scene = SimpleNamespace(
        robot=SimpleNamespace(arm=lambda _: arm), objects={"box": SimpleNamespace(asset=asset, body=None)}
    )
    cfg = SimpleNamespace(robot=SimpleNamespace(name="two"), skills=[SimpleNamespace(arm="right")])
    shown = SimpleNamespace(episode=SimpleNamespace(cfg=cfg, scene=scene), record=SimpleNamespace(skills=[entry]))
    acted = find_acted_part(shown, 0)
    assert (acted.link, acted.point_key) == ("box", "robots.two.right.tcp_position")


def test_the_lid_that_a_pedal_opens_is_shown_with_the_pedal():
    asset = generated("pedal_bin", 1)
    names = movable_joints(asset.model)
    parts = {name: asset.articulation.part(name) for name in ("pedal", "lid")}
    made = record((0, Phase.transit, 10), (0, Phase.approach, 10))
    made.arrays["objects.bin.joint_positions"] = np.full((made.n_actions + 1, len(names)), 0.2)
    pedal, lid = (
        {"object": "bin", "part": name, "joint_index": names.index(part.joint), "s_closed": 0.0, "s_open": 1.0}
        for name, part in parts.items()
    )
    made.skills = [{"name": "close", "joint": parts["pedal"].joint, **pedal}]
    made.goal = {"conditions": [{**lid, "kind": "open_fraction", "value": 0.9}]}
    body = SimpleNamespace(joint=lambda _: SimpleNamespace(prismatic=False))
    scene = SimpleNamespace(objects={"bin": SimpleNamespace(asset=asset, body=body)})
    shown = SimpleNamespace(record=made, episode=SimpleNamespace(scene=scene))
    assert phase_pictures._list_goal_links(shown, 0) == [parts["lid"].link]
    curves = phase_pictures._opening_curves(shown, find_rounds(made), 20)
    assert [curve.label for curve in curves] == ["pedal, up to 0.20 rad", "lid, up to 0.20 rad"]


@pytest.mark.parametrize(("turned", "shown"), [(0.5, ["door", "lever"]), (0.001, ["door"])])
def test_the_lever_that_frees_a_door_is_shown_after_it_if_it_moved(turned, shown):
    asset = generated("latched_door")
    joints, parts = movable_joints(asset.model), asset.articulation.parts
    positions = np.zeros((3, len(joints)))
    positions[1, joints.index(parts["lever"].joint)] = parts["lever"].openness.position(turned)
    found = EpisodeRecord(0, 0, True, arrays={"objects.latched_door.joint_positions": positions})
    door = {"object": "latched_door", "part": "door", "joint_index": joints.index(parts["door"].joint)}
    made = with_what_frees(found, [door, door], {"latched_door": asset})
    assert [entry["part"] for entry in made] == shown
    if len(made) > 1:
        assert part_openings(found, made[1]).tolist() == pytest.approx([0.0, turned, 0.0])


@pytest.mark.parametrize("s_open", [1.5, -1.5])
def test_a_part_opens_by_positive_values_where_the_joint_counts_down_too(s_open):
    found = EpisodeRecord(0, 0, True, arrays={"objects.box.joint_positions": np.array([[0.0, 0.2], [0.0, s_open]])})
    skill = {"object": "box", "joint_index": 1, "s_closed": 0.2, "s_open": s_open}
    assert part_openings(found, skill).tolist() == pytest.approx([0.0, abs(s_open - 0.2)])


def sheet(counts: list[int], *, success: bool = True) -> PhaseSheet:
    picture = np.full((2 * TILE_PX[1], 2 * TILE_PX[0], 3), 128, dtype=np.uint8)

    def section(count: int) -> Section:
        tiles = (
            Tile(picture, "transit", float(n), "0.10 rad", Phase.transit, failed=not success) for n in range(count)
        )
        return Section("open: door", list(tiles))

    times = np.arange(0.0, max(counts), 0.5)
    return PhaseSheet(
        title="a title that is long enough for more than one line, " * 3,
        success=success,
        notes=[] if success else ["It failed"],
        sections=[section(count) for count in counts],
        times_s=times,
        phases=[Phase.transit] * len(times),
        curves=[Curve("door", np.sin(times)), Curve("knob", np.zeros(len(times)))],
    )


@pytest.mark.parametrize(
    ("counts", "columns", "across"),
    [([9], 5, 5), ([7], 5, 4), ([3], 5, 3), ([1], 5, 1), ([9], 3, 3), ([8, 6, 9], 5, 4), ([8, 7], 5, 4), ([9], 1, 1)],
)
def test_a_sheet_is_as_wide_as_its_rows(counts, columns, across):
    drawn = draw_sheet(sheet(counts), columns=columns)
    assert drawn.width == across * (TILE_PX[0] + 4) - 4 + 16
    rows = sum(-(-count // across) for count in counts)
    assert rows * TILE_PX[1] < drawn.height < rows * (TILE_PX[1] + 40) + 400


@pytest.mark.parametrize("end_s", [0.2, 9.0])
def test_each_time_below_the_curves_is_another(end_s, monkeypatch):
    made, add = [], Figure.add_axes
    monkeypatch.setattr(Figure, "add_axes", lambda self, *args: made.append(add(self, *args)) or made[-1])
    shown = sheet([2])
    draw_sheet(replace(shown, times_s=shown.times_s / shown.times_s[-1] * end_s), columns=5)
    texts = [label.get_text() for label in made[0].get_xticklabels()]
    assert len(texts) == len(set(texts)) > 2


@pytest.mark.parametrize("what", ["1  transit", "6  motion_blocked", "12  workspace_exceeded"])
def test_a_caption_fits_above_its_picture(what):
    text = what + "  14.2 s   0.33 rad"
    assert fitting_font(text, TILE_PX[0] - 4).getlength(text) <= TILE_PX[0] - 4


def test_a_failure_is_red():
    def red(image: Image.Image) -> int:
        pixels = np.asarray(image.convert("RGB")).astype(int)
        return int(((pixels[:, :, 0] > 150) & (pixels[:, :, 1:].max(axis=2) < 60)).sum())

    assert red(draw_sheet(sheet([2]), columns=5)) == 0
    assert red(draw_sheet(sheet([2], success=False), columns=5)) > 5000


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize(("number", "moments"), [(0, 9), (2, 1), (4, 6), (6, 1)])
def test_the_command_draws_an_episode(data_set, number, moments, tmp_path, run_command):
    path = tmp_path / "deep" / "a.png"
    code, out, err = run_command("phases", data_set.path, f"episode={number}", f"out={path}")
    assert (code, err) == (0, "")
    assert out.startswith(f"phases: {path} ({count_noun(moments, 'moment')}, ")
    with Image.open(path) as image:
        assert image.width > 700
    assert path.stat().st_size < 200_000


@pytest.mark.integration
def test_a_shown_frame_has_the_recorded_state(data_set):
    from unlatch.workflows.runs.recorded_config import config_of

    found = data_set.read(0)
    with open_record(config_of(data_set), found) as shown:
        for frame in (0, 100, 40):
            shown.show(frame)
            scene = shown.episode.scene.state_tree
            scene.update_state()
            np.testing.assert_array_equal(
                scene.state_dict()["objects.drawer.joint_positions"],
                found.arrays["objects.drawer.joint_positions"][frame],
            )


def test_fingers_of_a_later_attempt_are_those_of_its_entry():
    record = SimpleNamespace(
        skills=[{"entry": 0}, {"entry": 0, "attempt": 1}],
        arrays={"robots.r.left.gripper_opening": np.array([[0.01, 0.02], [-0.001, -0.002]])},
    )
    cfg = SimpleNamespace(robot=SimpleNamespace(name="r"), skills=[SimpleNamespace(arm="left")])
    robot = SimpleNamespace(arm=lambda name: SimpleNamespace(name=name))
    shown = SimpleNamespace(record=record, episode=SimpleNamespace(cfg=cfg, scene=SimpleNamespace(robot=robot)))
    assert phase_pictures._finger_openings(shown, 1).tolist() == [0.02, 0.0]
