"""The example that learns: its networks look at the object."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unlatch

pytestmark = pytest.mark.slow

STATE = ["joint_position", "gripper", "hand_keypoints", "openness", "geometry"]
OF_OBJECT = ("hand_keypoints", "openness", "geometry")
CAMERAS = ("front", "wrist")
EXAMPLE = Path(__file__).parents[2] / "examples" / "learn"


@pytest.fixture(autouse=True)
def example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets Python find the modules of the example."""
    monkeypatch.syspath_prepend(str(EXAMPLE))


@pytest.fixture
def torch() -> Any:
    """Returns torch, which takes seconds to import, so no collection does it."""
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.heavy
def test_a_tiny_network_predicts_the_hand_better_than_one_that_sees_another_place(tmp_path, torch):
    import train

    cfg = unlatch.load(
        "close_drawer", "variety=0", "object.instance=3", "executor=serial", "pictures=0", seed=1
    )  # one drawer in many places
    data = unlatch.collect(cfg, episodes=24, out=tmp_path / "drawers")
    unlatch.export(data, format="lerobot", out=tmp_path / "lerobot", state=STATE, objects=False, keypoints=False)
    options = {**train.OPTIONS, "out": str(tmp_path / "policy.npz"), "steps": 400, "width": 128, "batch": 128}
    network = train.train([tmp_path / "lerobot"], options)

    names, _, seen, actions, ends = train.read_sets([tmp_path / "lerobot"])
    states = seen["observation.state"]
    episodes = np.unique(ends)
    rows = np.flatnonzero(np.isin(ends, episodes[11::12]))  # held out
    target = actions[np.minimum(rows + 7, ends[rows]), :-1]
    told = states[rows].copy()
    of_object = [i for i, name in enumerate(names) if any(word in name for word in OF_OBJECT)]
    told[:, of_object] = states[0, of_object]  # where the drawer of another episode stands

    def hand_error_m(states):
        q = network.act({"observation.state": torch.tensor(states)})[:, 7, :-1]
        return float((network.arm(q)[0] - network.arm(torch.tensor(target))[0]).norm(dim=1).mean())

    assert hand_error_m(states[rows]) < hand_error_m(told)


@pytest.fixture(scope="module")
def pictured(tmp_path_factory):
    """One demonstration as a set with points and images, without numbers of the object."""
    folder = tmp_path_factory.mktemp("pictured")
    few_frames = ["world.record_hz=10", "executor=serial", "pictures=0"]
    cfg = unlatch.load("close_drawer", "variety=0", "object.instance=3", *few_frames, seed=1)
    data = unlatch.collect(cfg, episodes=1, out=folder / "drawers")
    sizes = [f"cameras.{i}.{side}=32" for i in range(len(CAMERAS)) for side in ("width", "height")]
    quick = {"renderer": "software", "scenery": "none", "executor": "serial"}
    unlatch.render(data, cameras=CAMERAS, overrides=sizes, name="small", **quick)
    out = folder / "lerobot"
    unlatch.export(data, format="lerobot", out=out, objects=False, keypoints=False, point_cloud=32, render="small")
    return out


@pytest.mark.heavy
def test_a_network_learns_from_points_and_images_and_acts_on_them(pictured, tmp_path, monkeypatch, capsys, torch):
    import policy
    import train

    path = tmp_path / "policy.npz"
    options = {**train.OPTIONS, "out": str(path), "width": 64, "batch": 16, "noise": 0.0, "steps": 20, "chunk": 4}
    network = train.train([pictured], options)
    assert network.cfg.views == ["observation.point_cloud", *(f"observation.images.{name}" for name in CAMERAS)]

    _, _, seen, _, ends = train.read_sets([pictured])
    rows = np.arange(0, len(ends), 25)
    some = {key: torch.tensor(values[rows]) for key, values in seen.items()}
    blank = {key: torch.zeros_like(values) for key, values in some.items() if key != "observation.state"}
    assert not torch.allclose(network.act(some), network.act({**some, **blank}), atol=1e-3)  # it looks at them

    monkeypatch.setenv("UNLATCH_POLICY", str(path))
    chosen = policy.ChunkPolicy(None, None)
    for slot in range(2):
        chosen.reset(slot, {}, {})
    acted = chosen.act_batch({key: values[rows[:2]] for key, values in seen.items()}, [0, 1])
    expected = network.act({key: values[:2] for key, values in some.items()})[:, 0].numpy()
    np.testing.assert_allclose(acted, expected, atol=5e-3)  # the file has 16-bit numbers

    other = tmp_path / "other.npz"
    train.train([pictured], {**options, "out": str(other), "seed": 1, "steps": 4})
    monkeypatch.setenv("UNLATCH_POLICY", os.pathsep.join(map(str, (path, path, other))))
    three = policy.ChunkPolicy(None, None)
    three.reset(0, {}, {})
    acted = three.act_batch({key: values[rows[:1]] for key, values in seen.items()}, [0])
    np.testing.assert_allclose(acted, expected[:1], atol=5e-3)  # the one that differs has no say


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Arrays of `states.py` with images, of two demonstrations with instructions, whose scenes look alike."""
    path = tmp_path_factory.mktemp("packed") / "demos.npz"
    rng, rows = np.random.default_rng(0), 80
    names = [*(f"left.joint{i}.position" for i in range(2)), "left.gripper", "left.openness", "left.geometry.size"]
    images = np.repeat(rng.integers(0, 255, (1, 16, 16, 3), dtype=np.uint8), rows, axis=0)
    write_demonstrations(
        path,
        states=np.float32(np.hstack([np.zeros((rows, 3)), rng.normal(size=(rows, 2))])),
        actions=np.float32(rng.normal(size=(rows, 3))),
        lengths=np.array([rows // 2] * 2),
        names=np.array(names),
        axes=np.zeros((2, 6), dtype=np.float32),
        tcp=np.eye(4, dtype=np.float32),
        instructions=np.array(["open the upper drawer", "Open the lower drawer."]),
        **{"observation.images.front": images},
    )
    return path


OF_ARRAYS = {"width": 32, "batch": 16, "noise": 0.0, "chunk": 3, "hand": 0, "words": 1, "hidden": "openness,geometry"}


@pytest.fixture
def told(packed, tmp_path, torch):
    """The file of a network that was trained on them for a moment."""
    import train

    path = tmp_path / "policy.npz"
    train.train([packed], {**train.OPTIONS, **OF_ARRAYS, "out": str(path), "steps": 20})
    return path


def test_a_network_is_told_the_words_of_an_instruction_and_not_the_hidden_numbers(told, packed):
    import policy

    chosen = policy.ChunkPolicy(None, None, [policy.load(str(told))])
    cfg = chosen._networks[0].cfg
    assert (cfg.words, cfg.hidden, len(cfg.names)) == (["drawer", "lower", "open", "the", "upper"], 2, 3)
    with np.load(packed) as stored:
        seen = {"observation.state": stored["states"][:2, :3], "observation.images.front": stored[cfg.views[0]][:2]}
    for slot, said in enumerate(("open the upper drawer", "open the lower drawer")):
        chosen.reset(slot, seen, {"language": [said, "another phrasing"]})
    upper, lower = chosen.act_batch(seen, [0, 1])
    assert abs(upper - lower).max() > 1e-3  # the same state and image
    for slot in range(2):
        chosen.reset(slot, seen, {"language": ["Open the LOWER drawer!"]})
    np.testing.assert_allclose(chosen.act_batch(seen, [0, 1]), [lower, lower], atol=1e-5)


def test_a_server_acts_as_the_policy_in_the_process(told, packed, monkeypatch):
    import policy
    import serve

    given = policy.load(str(told))
    server = serve.Networks(policy.ChunkPolicy(None, None, [given]))
    with np.load(packed) as stored:
        state, images = stored["states"][:2, :3], stored["observation.images.front"][:2]
    rows = [{"observation.state": state[i], "observation.images.front": images[i]} for i in range(2)]
    said = ["open the upper drawer", "open the lower drawer"]
    served = [serve.Served(server) for _ in rows]
    for one, row, words in zip(served, rows, said, strict=True):
        one.reset(row, 0, 7, [words])
    acted = [one.act(row) for one, row in zip(served, rows, strict=True)]
    expected = given.act({key: np.stack([row[key] for row in rows]) for key in rows[0]}, said)[:, 0]
    np.testing.assert_allclose(acted, expected, atol=1e-5)
    served[0].act(rows[0])
    served[0].act(rows[0])
    with pytest.raises(KeyError):  # the chunk of three is used up; an error reaches who asked
        served[0].act({"observation.state": state[0]})


def test_numpy_acts_as_torch_does(torch):
    from network import load
    from states import StateNetwork

    path = EXAMPLE / "open_microwave.npz"
    ours, theirs = StateNetwork(path), load(path)
    rng = np.random.default_rng(0)
    low, spread = theirs.input_scale.numpy()
    seen = rng.normal(size=(5, len(ours.cfg.names))) * spread.mean() + low.mean()
    for word, axis in ((".grip.out.", 0), (".grip.along.", 2)):
        seen[:, [word in name for name in ours.cfg.names]] = np.eye(3)[axis]
    expected = theirs.act({"observation.state": torch.tensor(seen).float()}).numpy()
    np.testing.assert_allclose(ours.act({"observation.state": np.float32(seen)}), expected, atol=2e-3)


def test_the_nearest_neighbour_repeats_a_demonstration_that_it_meets_again(tmp_path, monkeypatch):
    import states

    cfg = unlatch.load("close_drawer", "variety=0", "object.instance=3", "executor=serial", "pictures=0", seed=1)
    data = unlatch.collect(cfg, episodes=2, out=tmp_path / "drawers")
    path = tmp_path / "demos"  # the file has this name
    states.main([str(data.path), f"out={path}", f"state=[{','.join(STATE)}]"])
    arrays = states.read_arrays([path, path])
    assert arrays["lengths"].tolist() == [data[0].n_actions, data[1].n_actions] * 2
    found = states.NearestNeighbour(str(path), 3)
    row = (arrays["lengths"][0] + 60) // found.every * found.every  # in the second episode, while the arm moves
    expected = arrays["actions"][row : row + 3]
    np.testing.assert_allclose(found.act({"observation.state": arrays["states"][[row]]})[0], expected, atol=1e-6)
    moved = arrays["states"][row].copy()
    moved[2] += 1e-3
    np.testing.assert_allclose(found.act({"observation.state": moved[None]})[0, :, 2], expected[:, 2] + 1e-3, atol=1e-6)

    monkeypatch.setenv("UNLATCH_POLICY", str(path))
    import policy

    chosen = policy.ChunkPolicy(None, None)
    chosen.reset(0, {}, {})
    acted = [chosen.act_batch({"observation.state": arrays["states"][[row]]}, [0])[0] for _ in range(3)]
    np.testing.assert_allclose(acted, expected, atol=1e-6)


@pytest.mark.heavy
def test_the_shipped_policy_opens_microwaves_and_one_that_never_looks_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_POLICY", str(EXAMPLE / "open_microwave.npz"))
    import policy

    class NeverLooks(policy.ChunkPolicy):
        """The same network, which is told the first microwave that it sees for ever."""

        def act_batch(self, observations: Mapping[str, Any], slots: Sequence[int]) -> list[np.ndarray]:
            seen = np.array(observations["observation.state"])
            names = self._networks[0].cfg.names
            of_object = [i for i, name in enumerate(names) if any(word in name for word in OF_OBJECT)]
            if not hasattr(self, "_told"):
                self._told = seen[0, of_object]
            seen[:, of_object] = self._told
            return super().act_batch({"observation.state": seen}, slots)

    def opened(kind: type, episodes: int) -> int:
        result = unlatch.evaluate(
            # one that opens takes 6 s; this process has imported everything already
            unlatch.load("open_microwave", "task.max_duration_s=15", "pictures=0", "executor=serial", seed=7),
            kind,
            episodes=episodes,
            out=tmp_path / kind.__name__,
            observation={"columns": True, "keys": [], "state": STATE, "objects": False, "keypoints": False},
        )
        return result.clean.successes

    looks, never_looks = opened(policy.ChunkPolicy, 4), opened(NeverLooks, 3)
    assert looks >= 3, looks
    assert never_looks <= 1, never_looks


def write_demonstrations(path: Path, **changed: Any) -> Path:
    """Writes arrays as `states.py` does, of one episode of 50 rows, an arm of two joints and a gripper."""
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "states": rng.normal(size=(50, 3)),
        "actions": rng.normal(size=(50, 3)),
        "lengths": np.array([50]),
        "names": np.array(["a", "b", "gripper"]),
        "fps": np.array(30),
        "axes": np.zeros((2, 6)),
        "tcp": np.eye(4),
    }
    np.savez(path, **{**arrays, **changed})
    return path


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"names": np.array(["b", "a", "gripper"])}, r"'names' is \['b', 'a', 'gripper'\], expected \['a', 'b'"),
        ({"fps": np.array(20)}, "'fps' is 20, expected 30"),
        ({"axes": np.ones((2, 6))}, "'axes' is"),
        ({"axes": np.zeros((3, 6))}, "'axes' is"),
        ({"tcp": 2.0 * np.eye(4)}, "'tcp' is"),
    ],
    ids=["names", "rate", "arm", "joints", "tcp"],
)
def test_sets_of_different_robots_states_or_rates_are_not_joined(tmp_path, changed, said):
    import states

    first, other = (write_demonstrations(tmp_path / f"{name}.npz") for name in ("first", "other"))
    assert len(states.read_arrays([first, other])["states"]) == 100
    write_demonstrations(other, **changed)
    with pytest.raises(SystemExit, match=rf"other.npz does not fit .*first.npz: {said}"):
        states.read_arrays([first, other])


def test_policies_with_chunks_of_different_lengths_act_together(tmp_path, monkeypatch):
    import policy

    path = write_demonstrations(tmp_path / "demos.npz")
    monkeypatch.setenv("UNLATCH_POLICY", f"{path}{os.pathsep}{path}")
    chosen = policy.ChunkPolicy(None, None)
    chosen._networks[0]._chunk = 5
    chosen.reset(0, {}, {})
    with np.load(path) as stored:
        seen, expected = stored["states"][:1], stored["actions"][:5]
    acted = [chosen.act_batch({"observation.state": seen}, [0])[0] for _ in range(5)]
    np.testing.assert_allclose(acted, expected, atol=1e-6)


def test_a_file_of_an_earlier_version_is_named(tmp_path):
    import policy

    np.savez(tmp_path / "old.npz", weights=np.zeros(3))  # a .pt of torch is a zip file, too
    with pytest.raises(ValueError, match=r"old.npz has neither a network nor demonstrations.*train it again"):
        policy.load(str(tmp_path / "old.npz"))


def test_a_program_ends_with_the_message_of_an_error(tmp_path):
    missing = tmp_path / "missing"
    command = [sys.executable, EXAMPLE / "states.py", missing, f"out={tmp_path / 'x'}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("states.py: ")
    assert str(missing) in found.stderr
    assert "Traceback" not in found.stderr
