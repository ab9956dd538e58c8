from .collect import CollectJob
from .corrupt_episodes import CorruptEpisodes
from .data_folders import data_sets_below, data_sets_in, describe_data_set, short_names
from .evaluate import PREFIX, EvaluateJob, check_policy, identity_of
from .header import differing_versions, header_of, versions_of
from .loading import LoadedConfig, config_as, load, load_config
from .plan import planned_scene
from .progress import Interruption, Progress
from .recorded_config import check_episode, config_of
from .replay import ReplayJob, ReplayMode, ReplayOutcome, replay_all, replay_deviation
from .run import PICTURE, RunResult, has_picture, output_folder, run_episodes
from .runner import EpisodeRunner
from .schema import MAX_WORKERS, CollectCfg, EnvCfg, EvaluateCfg, LauncherCfg, PlanCfg, PreviewCfg, RunCfg
from .statistics import SEARCH, STAGES, DecimatingSampler, RunStatistics, wilson_interval
from .stop_condition import StopCondition
from .success_bench import TASKS, SuccessBenchCfg, bench_runs, cost_table, measure, success_table

__all__ = [
    "MAX_WORKERS",
    "PICTURE",
    "PREFIX",
    "SEARCH",
    "STAGES",
    "TASKS",
    "CollectCfg",
    "CollectJob",
    "CorruptEpisodes",
    "DecimatingSampler",
    "EnvCfg",
    "EpisodeRunner",
    "EvaluateCfg",
    "EvaluateJob",
    "Interruption",
    "LauncherCfg",
    "LoadedConfig",
    "PlanCfg",
    "PreviewCfg",
    "Progress",
    "ReplayJob",
    "ReplayMode",
    "ReplayOutcome",
    "RunCfg",
    "RunResult",
    "RunStatistics",
    "StopCondition",
    "SuccessBenchCfg",
    "bench_runs",
    "check_episode",
    "check_policy",
    "config_as",
    "config_of",
    "cost_table",
    "data_sets_below",
    "data_sets_in",
    "describe_data_set",
    "differing_versions",
    "has_picture",
    "header_of",
    "identity_of",
    "load",
    "load_config",
    "measure",
    "output_folder",
    "planned_scene",
    "replay_all",
    "replay_deviation",
    "run_episodes",
    "short_names",
    "success_table",
    "versions_of",
    "wilson_interval",
]
