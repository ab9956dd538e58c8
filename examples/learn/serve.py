"""Serves a network to an Unlatch in another Python: this one needs torch and no Unlatch, that one no torch.

    python examples/learn/serve.py data/images.npz port=5800
    UNLATCH_EXECUTED=5 ... unlatch evaluate policy=tcp://127.0.0.1:5800 observation.columns=true ...

`UNLATCH_EXECUTED` is a variable of the server. What arrives while the network computes is answered together.
"""

import sys
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import numpy as np
from policy import ChunkPolicy, load

sys.path.append(str(Path(__file__).parents[1]))
from policy_server import listen


class Networks:
    """Asks the networks in one thread, which all connections share."""

    def __init__(self, policy: ChunkPolicy) -> None:
        self.policy = policy
        self.slots = count()
        self.waiting: SimpleQueue = SimpleQueue()
        Thread(target=self.answer, daemon=True).start()

    def ask(self, seen: dict, slot: int) -> np.ndarray:
        """Returns the next action; waits for it."""
        answer: Future = Future()
        self.waiting.put((seen, slot, answer))
        return answer.result()

    def answer(self) -> None:
        """Answers what waits, again and again."""
        while True:
            asked = [self.waiting.get()]
            while not self.waiting.empty():
                asked.append(self.waiting.get())
            seen, slots, answers = zip(*asked, strict=True)
            try:
                stacked = {key: np.stack([each[key] for each in seen]) for key in seen[0]}
                actions = self.policy.act_batch(stacked, slots)
            except Exception as exc:  # noqa: BLE001 - each environment gets the message
                for answer in answers:
                    answer.set_exception(exc)
                continue
            for answer, action in zip(answers, actions, strict=True):
                answer.set_result(action)


class Served:
    """The policy of one environment; see `HoldStill` of policy_server.py."""

    def __init__(self, networks: Networks) -> None:
        self.networks, self.slot = networks, next(networks.slots)

    def reset(self, observation: dict, episode: int, seed: int, language: list) -> None:
        """Begins an episode."""
        self.networks.policy.reset(self.slot, observation, {"language": language})

    def act(self, observation: dict) -> np.ndarray:
        """Returns the next action (size,)."""
        return self.networks.ask(observation, self.slot)


def serve(policy: ChunkPolicy, options: dict[str, str]) -> None:
    """Answers environments until somebody stops the process."""
    networks = Networks(policy)
    listen(options.get("host", "127.0.0.1"), int(options.get("port", "5800")), lambda *_: Served(networks))


if __name__ == "__main__":
    given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    paths = [word for word in sys.argv[1:] if "=" not in word]
    if not paths:
        sys.exit(__doc__)
    serve(ChunkPolicy(None, None, [load(path) for path in paths]), given)
