"""Serves a policy that LeRobot trained on an exported data set; run it in the environment of LeRobot.

    python lerobot_server.py outputs/drawers/checkpoints/last/pretrained_model
    unlatch evaluate task=close_drawer policy=tcp://127.0.0.1:5800 observation.columns=true

Run the second line in another terminal, in the environment of Unlatch. This file needs `policy_server.py` in the same
folder.
"""

import argparse
import sys
from functools import partial

import numpy as np
from policy_server import add_address, listen

try:
    import torch
    from lerobot.configs.policies import PreTrainedConfig
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors
except ModuleNotFoundError as exc:
    sys.exit(f"{exc}: run this file in the environment of LeRobot. Activate it, or run pip install 'lerobot[training]'")


class LeRobotPolicy:
    """A LeRobot checkpoint that was trained on an export with `action=joint_position`, the default."""

    def __init__(self, folder, device, steps, hello, low, high):
        """Loads the checkpoint.

        folder: `pretrained_model` of a checkpoint. device: for example cpu or cuda. steps: actions of a chunk to
        execute before the policy predicts the next chunk; None: as trained. hello, low, high: see `HoldStill`.
        """
        if hello["action_mode"] != "joint_position":
            raise ValueError(f"action.mode={hello['action_mode']}, expected joint_position: leave action.mode out")
        config = PreTrainedConfig.from_pretrained(folder)
        config.device = device
        if steps is not None:
            config.n_action_steps = steps
        (size,) = config.output_features["action"].shape
        if size != len(low):
            raise ValueError(
                f"an action of the policy has {size} numbers, an action of {hello['robot']} has {len(low)}"
            )
        self.inputs = config.input_features
        self.policy = get_policy_class(config.type).from_pretrained(folder, config=config).eval()
        self.before, self.after = make_pre_post_processors(
            config, pretrained_path=folder, preprocessor_overrides={"device_processor": {"device": device}}
        )
        self.language = ""

    def reset(self, observation, episode, seed, language):
        """Begins an episode."""
        self.policy.reset()
        self.language = language[0]

    def act(self, observation):
        """Returns the next action (size,)."""
        batch = {"task": [self.language]}
        for key, feature in self.inputs.items():
            if key not in observation:
                raise ValueError(f"the policy needs '{key}', which the observation lacks: set observation.columns=true")
            value = torch.from_numpy(np.array(observation[key]))
            if value.dtype == torch.uint8:
                value = value.permute(2, 0, 1) / 255
            if tuple(value.shape) != tuple(feature.shape):
                raise ValueError(
                    f"'{key}' has the shape {tuple(value.shape)}, the policy expects {tuple(feature.shape)}"
                )
            batch[key] = value.float()[None]
        with torch.inference_mode():
            return self.after(self.policy.select_action(self.before(batch)))[0].cpu().numpy()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", help="pretrained_model of a checkpoint")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, help="actions of a chunk to execute before the next prediction")
    add_address(parser)
    arguments = parser.parse_args()
    make_policy = partial(LeRobotPolicy, arguments.checkpoint, arguments.device, arguments.steps)
    listen(arguments.host, arguments.port, make_policy)
