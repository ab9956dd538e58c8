"""Policies of numbers alone, in NumPy: a trained network, and the nearest neighbour. Neither needs torch.

    python examples/learn/states.py data/microwaves out=data/microwaves.npz [state=[joint_position,gripper,...]]

writes the numbers of demonstrations as arrays, which `train.py` reads, also in a Python without Unlatch; with
`render=NAME`, their images and instructions, too.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy.spatial.transform import Rotation
from scipy.special import erf

STATE, IMAGE, SAID = "observation.state", "observation.images.", "instructions"
COLUMNS = ("joint_position", "gripper", "hand_keypoints", "openness", "skill", "geometry")


@cache
def read_arm(robot: str = "franka_panda") -> tuple[np.ndarray, np.ndarray]:
    """Returns the joint axes (n, 6) of a robot's arm at zero: direction, then a point on it [m]; and the tcp (4, 4)."""
    import unlatch
    from unlatch.workflows.episode.scene import arm_model

    cfg = unlatch.load("open_microwave", f"robot={robot}").robot
    fk = arm_model(cfg, cfg.arms[0]).kinematics.fk
    n = len(cfg.arms[0].joints)
    T_base_ee = fk(np.zeros(n))
    axes = []
    for q in np.eye(n):  # a turn of 1 rad about one joint
        T = fk(q) @ np.linalg.inv(T_base_ee)
        axis = np.cross(np.eye(3), T[:3, :3].T).sum(axis=0) / (2.0 * np.sin(1.0))
        axes.append([*axis, *np.linalg.lstsq(np.eye(3) - T[:3, :3], T[:3, 3], rcond=None)[0]])
    T_ee_tcp = np.eye(4)
    T_ee_tcp[:3, 3] = cfg.arms[0].keypoints["tool_head"]
    return np.float32(axes), np.float32(T_base_ee @ T_ee_tcp)


def read_records(folders: list[Path], columns: list[str], render: str = "") -> dict[str, np.ndarray]:
    """Returns states (N, n), actions (N, m) and lengths (E,) of the successful episodes of data sets, and their arm;
    of a render set also images (N, H, W, 3) of each camera, and instructions (E,).
    """
    from unlatch.data import DataSet
    from unlatch.exporters import ExportCfg, ExportSource
    from unlatch.simcore.recording.export.config import StateKind
    from unlatch.workflows.episode.observed_scene import recorded_scene
    from unlatch.workflows.runs.recorded_config import config_of

    kinds = [StateKind[name] for name in columns]
    cfg = ExportCfg(state=kinds, objects=False, keypoints=False, render=render or None)
    found = []
    for data_set in map(DataSet.open, folders):
        if any(item.success for item in data_set.summaries()):
            config = config_of(data_set)
            source = ExportSource(data_set, cfg, scene_of=lambda record, config=config: recorded_scene(config, record))
            made = list(source.trajectories())
            axes, tcp = read_arm(made[0].robot)
            arrays = {
                "states": np.float32(np.concatenate([item.columns[STATE].values[: item.n_actions] for item in made])),
                "actions": np.float32(np.concatenate([item.columns["action"].values for item in made])),
                "lengths": np.array([item.n_actions for item in made]),
                "names": np.array(made[0].columns[STATE].names),
                "fps": np.array(source.layout.fps),
                "axes": axes,
                "tcp": tcp,
            }
            for name in made[0].images:
                frames = (image for item in made for image in islice(item.images[name].frames(), item.n_actions))
                arrays[f"{IMAGE}{name}"] = np.stack(list(frames))
            arrays |= {SAID: np.array([item.language for item in made])} if render else {}
            found.append((data_set.path, arrays))
    if not found:
        sys.exit(f"states.py: no episode of {', '.join(map(str, folders))} succeeded. Collect more.")
    return _join(found)


def read_arrays(paths: list[Path]) -> dict[str, np.ndarray]:
    """Returns the arrays of files of this program, one after the other; without images."""

    def read(path: Path) -> dict[str, np.ndarray]:
        with np.load(path) as stored:
            return {key: stored[key] for key in stored.files if not key.startswith(IMAGE)}

    return _join([(path, read(path)) for path in paths])


def _join(sets: list[tuple[Path, dict[str, np.ndarray]]]) -> dict[str, np.ndarray]:
    """Returns the arrays of several sets as one; a set of another robot or with other states ends the program."""
    (first, found), *others = sets
    for path, other in others:
        if {*other} != {*found}:
            sys.exit(f"{path} does not fit {first}: {sorted({*other} ^ {*found})} is in one only. Make both alike.")
        for key, is_same in (("names", np.array_equal), ("fps", np.array_equal), ("axes", _is_near), ("tcp", _is_near)):
            if not is_same(found[key], other[key]):
                sys.exit(
                    f"{path} does not fit {first}: '{key}' is {other[key].tolist()}, expected {found[key].tolist()}. "
                    "Join sets of one robot, with the same state and rate."
                )
    alike = {"names", "fps", "axes", "tcp"}
    return {
        key: value if key in alike else np.concatenate([each[key] for _, each in sets]) for key, value in found.items()
    }


def _is_near(a: np.ndarray, b: np.ndarray) -> bool:
    """Returns whether axes or poses are those of one arm: other processors round the last digits differently."""
    return a.shape == b.shape and np.allclose(a, b, atol=1e-5)


class StateNetwork:
    """An `ActionNetwork` without views."""

    def __init__(self, path: str) -> None:
        with np.load(path) as stored:
            self.cfg = SimpleNamespace(**{"views": [], **json.loads(str(stored["cfg"]))})
            self._weights = {key: np.float32(stored[key]) for key in stored.files if key != "cfg"}
        words = (".grip.center.", ".grip.out.", ".grip.along.", ".hand_keypoints.")
        *self._grip, self._keypoints = (self._find_columns(word) for word in words)

    def _find_columns(self, word: str) -> slice:
        found = [i for i, name in enumerate(self.cfg.names) if word in name] or [self.cfg.joints]
        return slice(found[0], found[0] + sum(word in name for name in self.cfg.names))

    def act(self, seen: dict[str, np.ndarray]) -> np.ndarray:
        """Returns actions (N, chunk, joints + 1) for observations by key; `STATE` is (N, len(names))."""
        n, state = self.cfg.joints, np.asarray(seen[STATE], dtype=float)
        q, (origin, frame) = state[:, :n], self._find_grip(state)
        p, R, _ = self._reach_point(q)
        points = state[:, self._keypoints].reshape(len(q), -1, 3) @ _turned(R) + (p - origin)[:, None]
        local = _turned(frame) @ R
        hand = np.hstack([((p - origin)[:, None] @ frame)[:, 0], local[..., 0], local[..., 1]])
        rest = state[:, n : self._keypoints.start], state[:, self._keypoints.stop :]
        x = self._predict(np.hstack([q, *rest, (points @ frame).reshape(len(q), -1), hand]))
        goal = x[..., :n] + q[:, None]
        if self.cfg.hand:
            moved = x[..., n + 1 :] + hand[:, None]
            goal_p = moved[..., :3] @ _turned(frame) + origin[:, None]
            goal_R = frame[:, None] @ _orthonormal(moved[..., 3:])
            flat = self._reach(goal.reshape(-1, n), goal_p.reshape(-1, 3), goal_R.reshape(-1, 3, 3))
            goal = flat.reshape(goal.shape)
        return np.concatenate([goal, x[..., n : n + 1]], axis=2)

    def _find_grip(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._grip[0].stop == self._grip[0].start:
            return np.zeros((len(state), 3)), np.broadcast_to(np.eye(3), (len(state), 3, 3))
        origin, out, along = (state[:, columns] for columns in self._grip)
        return origin, np.stack([out, np.cross(along, out), along], axis=2)

    def _predict(self, inputs: np.ndarray) -> np.ndarray:
        w, blocks = self._weights, self.cfg.blocks
        (mean, spread), (low, scale) = w["input_scale"], w["output_scale"]

        def linear(x: np.ndarray, name: str) -> np.ndarray:
            return x @ w[f"layers.{name}.weight"].T + w[f"layers.{name}.bias"]

        def norm(x: np.ndarray, name: str) -> np.ndarray:
            x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
            return x * w[f"layers.{name}.weight"] + w[f"layers.{name}.bias"]

        x = linear(np.clip((np.float32(inputs) - mean) / spread, -5.0, 5.0), "0")
        for i in range(1, blocks + 1):
            y = linear(norm(x, f"{i}.0"), f"{i}.1")
            x = x + linear(y * 0.5 * (1.0 + erf(y / np.sqrt(np.float32(2.0)))), f"{i}.3")
        return np.float64(linear(norm(x, f"{blocks + 1}"), f"{blocks + 2}").reshape(-1, *low.shape) * scale + low)

    def _reach_point(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns tcp positions (N, 3) [m], rotations (N, 3, 3) and Jacobians (N, 6, n) of joints q (N, n) [rad]."""
        R, p, lines = np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3)), []
        for (direction, point), angle in zip(self._weights["arm.axes"].reshape(-1, 2, 3), q.T, strict=True):
            lines.append((R @ direction, p + R @ point))
            turn = Rotation.from_rotvec(angle[:, None] * direction).as_matrix()
            p, R = p + (R @ (point - turn @ point)[..., None])[..., 0], R @ turn
        tcp = self._weights["arm.tcp"]
        p, R = p + R @ tcp[:3, 3], R @ tcp[:3, :3]
        return p, R, np.stack([np.hstack([np.cross(w, p - x), w]) for w, x in lines], axis=2)

    def _reach(self, q: np.ndarray, position: np.ndarray, rotation: np.ndarray, damping: float = 0.02) -> np.ndarray:
        for _ in range(3):
            p, R, J = self._reach_point(q)
            error = np.hstack([position - p, np.cross(R, rotation, axis=1).sum(axis=2) / 2.0])
            q = q + (_turned(J) @ np.linalg.solve(J @ _turned(J) + damping**2 * np.eye(6), error[..., None]))[..., 0]
        return q


def _turned(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, -1, -2)


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    a, b = columns[..., :3], columns[..., 3:]
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b - (a * b).sum(-1, keepdims=True) * a
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    return np.stack([a, b, np.cross(a, b)], axis=-1)


class NearestNeighbour:
    """Does what the demonstration with the nearest observation did next, relative to the present joints."""

    every = 4
    """Of so many frames of a demonstration, one is looked at."""

    def __init__(self, path: str, chunk: int) -> None:
        """Reads arrays of demonstrations; `chunk`: predicted actions."""
        data = read_arrays([Path(path)])
        self.cfg = SimpleNamespace(names=list(data["names"]), views=[])
        states, self._actions, self._chunk = data["states"], data["actions"], chunk
        ends = np.repeat(np.cumsum(data["lengths"]), data["lengths"])
        self._rows = np.arange(0, len(states), self.every)
        self._ends, self._joints = ends[self._rows], states[self._rows, : self._actions.shape[1] - 1]
        self._mean, self._spread = states.mean(axis=0), states.std(axis=0).clip(min=1e-2)
        self._keys = (states[self._rows] - self._mean) / self._spread
        self._lengths = (self._keys**2).sum(axis=1)

    def act(self, seen: dict[str, np.ndarray]) -> np.ndarray:
        """Returns actions (N, chunk, joints + 1) for observations by key."""
        return np.stack([self._act_one(np.float32(state)) for state in seen[STATE]])

    def _act_one(self, state: np.ndarray) -> np.ndarray:
        i = np.argmin(self._lengths - 2.0 * (self._keys @ ((state - self._mean) / self._spread)))
        rows = np.minimum(self._rows[i] + np.arange(self._chunk), self._ends[i] - 1)
        chunk = self._actions[rows].astype(float)
        chunk[:, :-1] += state[: chunk.shape[1] - 1] - self._joints[i]
        return chunk


def main(words: list[str]) -> None:
    """Writes the numbers of demonstrations."""
    given = dict(word.split("=", 1) for word in words if "=" in word)
    folders = [Path(word) for word in words if "=" not in word]
    if not folders or "out" not in given or not given.keys() <= {"out", "state", "render"}:
        sys.exit(__doc__)
    columns = given.get("state", f"[{','.join(COLUMNS)}]").strip("[]").split(",")
    arrays = read_records(folders, columns, given.get("render", ""))
    with Path(given["out"]).open("wb") as file:  # the name as it is, also without .npz
        np.savez(file, **arrays)
    print(f"{given['out']}: {len(arrays['lengths'])} episodes, {len(arrays['states'])} rows")


def run(program: Callable[[list[str]], None]) -> None:
    """Runs a program with the words of its command line; an error of Unlatch or of a file ends it with its message."""
    try:
        program(sys.argv[1:])
    except Exception as exc:
        errors = sys.modules.get("unlatch.simcore.errors")  # Unlatch need not be installed
        if not isinstance(exc, (OSError, errors.UnlatchError) if errors else OSError):
            raise
        sys.exit(f"{Path(sys.argv[0]).name}: {exc}")


if __name__ == "__main__":
    run(main)
