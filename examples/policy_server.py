"""A policy server for `unlatch evaluate policy=tcp://127.0.0.1:5800`: one file, NumPy only, Python 3.8 or later.

Use it for a policy that needs another Python version. Copy this file and replace `HoldStill` by your policy:

    python policy_server.py --port 5800

`lerobot_server.py` in the same folder does this for a policy that LeRobot trained.

A message is 4 bytes (big-endian length), a JSON header of that length, and the bytes of the arrays in the header.
The page docs/policies.md of Unlatch lists every message.
"""

import argparse
import json
import socket
import struct
import threading

import numpy as np


class HoldStill:
    """Keeps the arm still. Put your own policy here; each environment gets one object."""

    def __init__(self, hello, low, high):
        """Stores the properties of the environment.

        hello: task, robot, action_mode, frame_hz. low, high: (size,) bounds of an action.
        """
        self.joints = len(low) - 1
        self.action = (low + high) / 2.0
        self.absolute = hello["action_mode"] == "joint_position"

    def reset(self, observation, episode, seed, language):
        """Begins an episode; `language` is a list of instructions."""
        if self.absolute:
            joints = [v for k, v in observation.items() if k.startswith("robots.") and k.endswith(".joint_positions")]
            self.action[: self.joints] = joints[0][: self.joints]

    def act(self, observation):
        """Returns the next action (size,), or None to end the episode."""
        return self.action


def read(connection, count):
    """Returns exactly `count` bytes."""
    data = b""
    while len(data) < count:
        chunk = connection.recv(min(count - len(data), 1 << 20))
        if not chunk:
            raise ConnectionError
        data += chunk
    return data


def receive(connection):
    """Returns one message: its header, and its arrays by name."""
    (length,) = struct.unpack(">I", read(connection, 4))
    header = json.loads(read(connection, length))
    arrays = {}
    for item in header["arrays"]:
        dtype = np.dtype(item["dtype"])
        count = int(np.prod(item["shape"], dtype=np.int64))
        arrays[item["name"]] = np.frombuffer(read(connection, count * dtype.itemsize), dtype).reshape(item["shape"])
    return header, arrays


def send(connection, header, **arrays):
    """Sends one message."""
    arrays = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    listed = [{"name": n, "dtype": a.dtype.name, "shape": list(a.shape)} for n, a in arrays.items()]
    head = json.dumps({**header, "arrays": listed}).encode()
    connection.sendall(struct.pack(">I", len(head)) + head + b"".join(a.tobytes() for a in arrays.values()))


def serve(connection, make_policy):
    """Answers one environment until it closes the connection."""
    policy = None
    with connection:
        while True:
            try:
                header, arrays = receive(connection)
            except (ConnectionError, struct.error):
                return
            try:
                if header["type"] == "hello":
                    policy = make_policy(header, arrays["action_low"], arrays["action_high"])
                    send(connection, {"type": "ready"})
                elif header["type"] == "reset":
                    policy.reset(arrays, header["episode"], header["seed"], header["language"])
                    send(connection, {"type": "ready"})
                else:
                    action = policy.act(arrays)
                    if action is None:
                        send(connection, {"type": "action", "done": True})
                    else:
                        send(connection, {"type": "action"}, action=np.asarray(action, dtype=np.float64))
            except Exception as exc:  # noqa: BLE001 - the environment gets the message and ends the run with it
                send(connection, {"type": "error", "message": f"{type(exc).__name__}: {exc}"})


def add_address(parser):
    """Adds the options that say where to listen."""
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5800)


def listen(host, port, make_policy):
    """Answers environments until somebody stops the process; each environment gets its own policy."""
    server = socket.create_server((host, port))
    print(f"listening on {host}:{server.getsockname()[1]}", flush=True)
    while True:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection, make_policy), daemon=True).start()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    add_address(parser)
    arguments = parser.parse_args()
    listen(arguments.host, arguments.port, HoldStill)
