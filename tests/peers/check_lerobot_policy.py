"""Trains a policy with LeRobot for two steps, serves it by `examples/lerobot_server.py`, and has Unlatch evaluate it.

Run by `make check-lerobot`, with Unlatch's own Python: `check_lerobot_policy.py LEROBOT_BIN EXPORTED OUT`. It checks
that what was exported can be trained on, and what was trained can be asked; two steps teach nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from unlatch.simcore.recording.data_set.data_set import DataSet

ROOT = Path(__file__).resolve().parents[2]
SMALL = "dim_model=32 dim_feedforward=32 n_encoder_layers=1 n_vae_encoder_layers=1 chunk_size=10 n_action_steps=5"
CAMERA = ["sensors=[front]", "sensors.0.width=160", "sensors.0.height=120", "observation.images=[rgb]"]
ENDINGS = ("timeout", "collision")


def trained(lerobot: Path, exported: Path, out: Path) -> Path:
    """The checkpoint of a policy that was trained for two steps."""
    options = [f"--policy.{option}" for option in SMALL.split()]
    command = [
        lerobot / "lerobot-train",
        "--dataset.repo_id=local/check",
        f"--dataset.root={exported}",
        "--dataset.video_backend=pyav",
        "--policy.type=act",
        "--policy.push_to_hub=false",
        "--policy.device=cpu",
        "--policy.pretrained_backbone_weights=null",
        *options,
        f"--output_dir={out}",
        "--steps=2",
        "--batch_size=4",
        "--num_workers=0",
    ]
    subprocess.run([str(word) for word in command], env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=True)
    return out / "checkpoints" / "last" / "pretrained_model"


def evaluated(lerobot: Path, checkpoint: Path, out: Path) -> DataSet:
    """What came of one short episode with that policy."""
    server = [lerobot / "python", ROOT / "examples" / "lerobot_server.py", checkpoint, "--device", "cpu", "--port", "0"]
    with subprocess.Popen([str(word) for word in server], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().rpartition(":")[2].strip()
            command = ["unlatch", "evaluate", "task=close_drawer", f"policy=tcp://127.0.0.1:{port}"]
            options = ["observation.columns=true", "episodes=1", "task.max_duration_s=3", "pictures=0", f"out={out}"]
            subprocess.run([sys.executable, "-m", *command, *options, *CAMERA], check=True)
        finally:
            process.kill()
    return DataSet.open(out)


def main() -> None:
    """Runs both."""
    lerobot, exported, out = (Path(word).absolute() for word in sys.argv[1:4])
    record = evaluated(lerobot, trained(lerobot, exported, out / "training"), out / "evaluation").read(0)
    assert record.code in ENDINGS, (record.code, record.evidence)
    targets = record.arrays["actions.franka_panda.left.joint_targets"]
    assert len(targets) > 6
    assert (targets[6:] != targets[5]).any(), "the policy moved nothing"
    print(f"trained, served and evaluated: {len(targets)} actions, {record.code}")


if __name__ == "__main__":
    main()
