"""Serves a policy that LeRobot trained on an exported data set, for an Unlatch in another environment or machine.

    python lerobot_server.py outputs/drawers/checkpoints/last/pretrained_model
    unlatch evaluate task=close_drawer policy=tcp://127.0.0.1:5800 observation.columns=true

Run the first line in an environment with the extra `lerobot` of Unlatch. If `unlatch evaluate` runs there too,
`policy=lerobot:PATH` needs no server. This file needs `policy_server.py` in the same folder.
"""

import argparse
from functools import partial

from policy_server import add_address, listen

from unlatch.policies import ActionMode, Checkpoint, SequentialPolicy


class ServedPolicy:
    """A LeRobot checkpoint that was trained on an export with `action=joint_position`, the default."""

    def __init__(self, folder, hello, low, high):
        """Loads the checkpoint in a folder; hello, low, high: see `HoldStill`."""
        mode = ActionMode(hello["action_mode"])
        self.policy = SequentialPolicy(Checkpoint(folder, action_size=len(low), action_mode=mode))

    def reset(self, observation, episode, seed, language):
        """Begins an episode."""
        self.policy.reset(observation, {"episode": episode, "seed": seed, "language": language})

    def act(self, observation):
        """Returns the next action (size,)."""
        return self.policy.act(observation)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", help="pretrained_model of a checkpoint")
    add_address(parser)
    arguments = parser.parse_args()
    listen(arguments.host, arguments.port, partial(ServedPolicy, arguments.checkpoint))
