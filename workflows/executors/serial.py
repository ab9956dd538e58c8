"""Makes episodes in this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workflows.executors.executor import Job, Outcome


class SerialExecutor:
    """Makes episodes in this process; a crash of native code ends the run."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = 1

    def run(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        """See `Executor`."""
        with job.open("w0") as make_episode:
            for number in numbers:
                yield make_episode(number)

    def __repr__(self) -> str:
        return "SerialExecutor()"
