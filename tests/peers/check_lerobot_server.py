"""Compares `policy=lerobot://` through LeRobot's own policy server with the same checkpoint, asked directly.

Run by `make check-lerobot`, with LeRobot's Python. The network is not trained.
"""

from __future__ import annotations

import socket
import tempfile
from concurrent import futures
from types import SimpleNamespace

import grpc
import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from lerobot.async_inference.configs import PolicyServerConfig
from lerobot.async_inference.policy_server import PolicyServer
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.factory import get_policy_class, make_pre_post_processors
from lerobot.transport import services_pb2_grpc

from unlatch.workflows.policies.catalog import load_policy
from unlatch.workflows.policies.processes import PolicyServerError

STATE, IMAGE, SIDE = "observation.state", "observation.images.front", (32, 48)
JOINTS, ACTIONS, EXECUTED = 9, 8, 4


def save(folder: str) -> None:
    """Writes an ACT with random weights."""
    torch.manual_seed(0)
    sizes = {"dim_model": 32, "n_heads": 2, "dim_feedforward": 32, "n_encoder_layers": 1, "n_vae_encoder_layers": 1}
    config = ACTConfig(
        input_features={
            STATE: PolicyFeature(FeatureType.STATE, (JOINTS,)),
            IMAGE: PolicyFeature(FeatureType.VISUAL, (3, *SIDE)),
        },
        output_features={"action": PolicyFeature(FeatureType.ACTION, (ACTIONS,))},
        chunk_size=6,
        n_action_steps=6,
        pretrained_backbone_weights=None,
        device="cpu",
        **sizes,
    )
    get_policy_class("act")(config).save_pretrained(folder)
    stats = {STATE: (JOINTS,), IMAGE: (3, 1, 1), "action": (ACTIONS,)}
    made = {key: {"mean": torch.rand(size), "std": 1.0 + torch.rand(size)} for key, size in stats.items()}
    for processor in make_pre_post_processors(config, dataset_stats=made):
        processor.save_pretrained(folder)


def predict(folder: str, observation: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the actions (T, n) of the checkpoint, asked directly."""
    policy = get_policy_class("act").from_pretrained(folder)
    prepare, finish = make_pre_post_processors(policy.config, pretrained_path=folder)
    image = torch.tensor(observation[IMAGE]).permute(2, 0, 1).float()[None] / 255
    with torch.inference_mode():
        batch = prepare({STATE: torch.tensor(observation[STATE]).float()[None], IMAGE: image})
        return finish(policy.predict_action_chunk(batch))[0].numpy()


def make_env(joints: int) -> SimpleNamespace:
    """Returns what a policy needs of an environment."""
    spaces = {STATE: Box(-9.0, 9.0, (joints,)), IMAGE: Box(0, 255, (*SIDE, 3), np.uint8)}
    action = SimpleNamespace(chunk=EXECUTED, latency_s=0.0, lost_share=0.0)
    cfg = SimpleNamespace(action=action, world=SimpleNamespace(record_hz=30))
    return SimpleNamespace(cfg=cfg, action_space=Box(-9.0, 9.0, (ACTIONS,)), observation_space=Dict(spaces))


def main() -> None:
    """Runs the check."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    service = PolicyServer(PolicyServerConfig(host="127.0.0.1", port=port, inference_latency=0.0))
    services_pb2_grpc.add_AsyncInferenceServicer_to_server(service, server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    rng = np.random.default_rng(0)
    info = {"episode": 0, "seed": 1, "language": ["close the drawer"]}
    with tempfile.TemporaryDirectory() as folder:
        save(folder)
        spec = f"lerobot://127.0.0.1:{port}/act/{folder}"
        policy = load_policy(spec, make_env(JOINTS), timeout_s=60.0)
        for episode in range(2):
            observation = {
                STATE: rng.normal(size=JOINTS),
                IMAGE: rng.integers(0, 256, (*SIDE, 3), dtype=np.uint8),
            }
            policy.reset(observation, {**info, "episode": episode})
            given = np.stack([policy.act(observation) for _ in range(EXECUTED)])
            np.testing.assert_array_equal(given, predict(folder, observation)[:EXECUTED])
        policy.close()
        policy = load_policy(spec, make_env(JOINTS - 1), timeout_s=60.0)
        policy.reset({}, info)
        try:
            policy.act({STATE: np.zeros(JOINTS - 1), IMAGE: np.zeros((*SIDE, 3), np.uint8)})
        except PolicyServerError as exc:
            assert "sent no actions" in str(exc)  # noqa: PT017 - no pytest here
        else:
            raise AssertionError("a state of another size was taken")
        policy.close()
    server.stop(None)
    print(f"through LeRobot's server: {2 * EXECUTED} actions, equal to the bit")


if __name__ == "__main__":
    main()
