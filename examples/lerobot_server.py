"""Serves a policy that LeRobot trained on an exported data set; run it in the environment of LeRobot.

    python lerobot_server.py outputs/drawers/checkpoints/last/pretrained_model
    unlatch evaluate task=close_drawer policy=tcp://127.0.0.1:5800 observation.columns=true

Run the second line in another terminal, in the environment of Unlatch. This file needs `policy_server.py` and
`lerobot_policy.py` in the same folder.
"""

import argparse
import sys
from functools import partial

from policy_server import add_address, listen

try:
    import torch
    from lerobot_policy import load, read_inputs
except ModuleNotFoundError as exc:
    sys.exit(f"{exc}: run this file in the environment of LeRobot. Activate it, or run pip install 'lerobot[training]'")


class ServedPolicy:
    """A LeRobot checkpoint that was trained on an export with `action=joint_position`, the default."""

    def __init__(self, folder, device, steps, hello, low, high):
        """Loads the checkpoint.

        folder, device, steps (as `executed`): see `load`. hello, low, high: see `HoldStill`.
        """
        if hello["action_mode"] != "joint_position":
            raise ValueError(f"action.mode={hello['action_mode']}, expected joint_position: leave action.mode out")
        self.policy, self.before, self.after = load(folder, len(low), device, steps)
        self.language = ""

    def reset(self, observation, episode, seed, language):
        """Begins an episode."""
        self.policy.reset()
        self.language = language[0]

    def act(self, observation):
        """Returns the next action (size,)."""
        inputs = read_inputs(observation, self.policy.config.input_features)
        batch = {"task": [self.language], **{key: value[None] for key, value in inputs.items()}}
        with torch.inference_mode():
            return self.after(self.policy.select_action(self.before(batch)))[0].cpu().numpy()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", help="pretrained_model of a checkpoint")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, help="actions of a chunk to execute before the next prediction")
    add_address(parser)
    arguments = parser.parse_args()
    make_policy = partial(ServedPolicy, arguments.checkpoint, arguments.device, arguments.steps)
    listen(arguments.host, arguments.port, make_policy)
