"""Makes episodes in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from unlatch.workflows.runs.executors.executor import Job, Outcome, WorkerLimits, never_ended


class SerialExecutor:
    """Makes episodes in this process; a crash of native code ends the run."""

    on_this_host = True

    def __init__(self, workers: int = 1, limits: WorkerLimits | None = None) -> None:
        del workers, limits  # this process is the only worker, and nothing can replace it
        self.workers = 1

    def run(
        self,
        job: Job,
        numbers: Iterable[int],
        *,
        max_episodes: int | None = None,
        is_ended: Callable[[], bool] = never_ended,
    ) -> Generator[Outcome]:
        """See `Executor`."""
        with job.open("w0") as make_episode:
            for number in numbers:
                if is_ended():
                    break
                yield make_episode(number)

    def __repr__(self) -> str:
        return "SerialExecutor()"
