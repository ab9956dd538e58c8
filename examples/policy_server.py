"""A policy server for `unlatch evaluate policy=tcp://127.0.0.1:5800`: one file, NumPy only, any Python from 3.8 on.

Copy it beside a policy that needs another Python, and put that policy where `HoldStill` is:

    python policy_server.py --port 5800

For a policy that LeRobot trained, `lerobot_server.py` beside it has done so.

A message is 4 bytes (big-endian length), a JSON header of that length, then the bytes of the arrays that it lists.
The page docs/policies.md of unlatch has every message.
"""

import argparse
import json
import socket
import struct
import threading

import numpy as np


class HoldStill:
    """Keeps the arm where it is. Put your own policy here: one object an environment."""

    def __init__(self, hello, low, high):
        """Takes what will be asked for.

        hello: task, robot, action_mode, frame_hz. low, high: (size,) bounds of an action.
        """
        self.joints = len(low) - 1
        self.action = (low + high) / 2.0
        self.absolute = hello["action_mode"] == "joint_position"

    def reset(self, observation, episode, seed, language):
        """Begins an episode; `language` holds phrasings of the instruction."""
        if self.absolute:
            joints = [v for k, v in observation.items() if k.startswith("robots.") and k.endswith(".joint_positions")]
            self.action[: self.joints] = joints[0][: self.joints]

    def act(self, observation):
        """The next action (size,), or None when there is nothing more to do."""
        return self.action


def read(connection, count):
    """Exactly `count` bytes."""
    data = b""
    while len(data) < count:
        chunk = connection.recv(min(count - len(data), 1 << 20))
        if not chunk:
            raise ConnectionError
        data += chunk
    return data


def receive(connection):
    """One message: header, and arrays by name."""
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
    """Answers one environment until it hangs up."""
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
            except Exception as exc:  # noqa: BLE001 - the other side is told, and ends the run with it
                send(connection, {"type": "error", "message": f"{type(exc).__name__}: {exc}"})


def add_address(parser):
    """Adds the options that say where to listen."""
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5800)


def listen(host, port, make_policy):
    """Answers environments, each with a policy of its own, until it is stopped."""
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
