"""Where the names of version 0.2 are now, by the path under which that version had them; see `old_paths`."""

from __future__ import annotations

_ANNOTATORS = "unlatch.simcore.sim.annotators"
_BUILDING = "unlatch.objects.procedural.building"
_RECORDING = "unlatch.simcore.recording"

GONE = {
    "unlatch.configs.setting_file": "unlatch.importers",
    "unlatch.objects.importers.asset_converter_base": "unlatch.importers",
    "unlatch.objects.importers.made_urdf": "unlatch.objects.annotate.source",
    "unlatch.objects.importers.mesh_converter": "unlatch.importers",
    "unlatch.objects.importers.property_groups": "unlatch.importers",
    "unlatch.objects.importers.usd.writer": "unlatch.objects.importers.usd_writer",
    f"{_BUILDING}.assembly": "unlatch.objects",
    f"{_BUILDING}.drawing": "unlatch.objects",
    f"{_BUILDING}.finishes": "unlatch.objects",
    f"{_BUILDING}.link_builder": "unlatch.objects",
    f"{_BUILDING}.panel_handles": "unlatch.objects",
    "unlatch.simcore.meshes.decomposition.collision_approximation": "unlatch.importers",
    "unlatch.simcore.randomization.node_graph": "unlatch.simcore.randomization.replicator",
    f"{_RECORDING}.data_set.data_set": "unlatch.data",
    f"{_RECORDING}.export.lerobot.reader": "unlatch.exporters",
    f"{_RECORDING}.images.pytorch_listener": "unlatch.data",
    f"{_RECORDING}.images.pytorch_writer": "unlatch.data",
    f"{_RECORDING}.images.renders": "unlatch.data",
    f"{_RECORDING}.recorder": "unlatch.data",
    f"{_ANNOTATORS}.annotated_frame": "unlatch.sensors",
    f"{_ANNOTATORS}.annotations": "unlatch.sensors",
    f"{_ANNOTATORS}.annotator": "unlatch.sensors",
    f"{_ANNOTATORS}.config": "unlatch.sensors",
    f"{_ANNOTATORS}.formats.reference_nodes": "unlatch.sensors",
    "unlatch.simcore.sim.joint_drive": "unlatch.sim",
    "unlatch.simcore.sim.sensors.camera_cfg": "unlatch.sensors",
    "unlatch.simcore.sim.sensors.catalog": "unlatch.sensors",
    "unlatch.simcore.sim.views.articulation_view": "unlatch.sim",
    "unlatch.simcore.sim.views.grid_cloner": "unlatch.sim",
    "unlatch.simcore.sim.views.rigid_prim_view": "unlatch.sim",
    "unlatch.simcore.state.module": "unlatch.sensors",
    "unlatch.skills.artpreplan": "unlatch.skills",
    "unlatch.skills.contract": "unlatch.skills",
    "unlatch.skills.contract.command": "unlatch.skills",
    "unlatch.skills.contract.config": "unlatch.skills",
    "unlatch.skills.contract.context": "unlatch.skills",
    "unlatch.skills.contract.failure": "unlatch.skills",
    "unlatch.skills.contract.skill": "unlatch.skills",
    "unlatch.skills.holding": "unlatch.skills",
    "unlatch.solver.diagnosis.diagnosis": "unlatch",
    "unlatch.solver.goal": "unlatch.solver",
    "unlatch.solver.goal.goal_solver": "unlatch.solver",
    "unlatch.solver.path": "unlatch.solver",
    "unlatch.solver.path.path_program": "unlatch.solver.path_with_goal",
    "unlatch.solver.planning.clearance": "unlatch.solver.motion",
    "unlatch.solver.planning.motion": "unlatch.solver.motion",
    "unlatch.solver.planning.plan": "unlatch.solver",
    "unlatch.solver.planning.planner": "unlatch.solver",
    "unlatch.solver.planning.timing": "unlatch.solver.timing",
    "unlatch.solver.settings.conventions": "unlatch.solver.setting_reader",
    "unlatch.solver.settings.hand_motions": "unlatch.solver.setting",
    "unlatch.solver.settings.peer_form": "unlatch.solver.peer_settings",
    "unlatch.solver.settings.setting": "unlatch.solver",
    "unlatch.solver.terms.axis": "unlatch.solver",
    "unlatch.solver.terms.catalog": "unlatch.solver",
    "unlatch.solver.terms.point2point": "unlatch.solver",
    "unlatch.solver.terms.row": "unlatch.solver",
    "unlatch.solver.terms.term": "unlatch.solver",
    "unlatch.tasks.relation": "unlatch.tasks.task",
    "unlatch.workflows.cli.command_line": "unlatch.testing",
    "unlatch.workflows.cli.composed_configs": "unlatch.testing",
    "unlatch.workflows.cli.help_text": "unlatch.workflows.cli.shell_text",
    "unlatch.workflows.episode.goal": "unlatch.workflows.episode.judge",
    "unlatch.workflows.episode.planner_models": "unlatch.workflows.episode.scene",
    "unlatch.workflows.viewing.acted_part": "unlatch.workflows.viewing.best_view",
    "unlatch.workflows.viewing.clips.views": "unlatch.workflows.viewing.best_view",
    "unlatch.workflows.viewing.recorded_moments": "unlatch.workflows.viewing.phase_moments",
    "unlatch.workflows.viewing.viewers.recorded_scene": "unlatch.data",
}
"""Where the names of a module of version 0.2 are now: in a public module, or else in an inner one."""

ELSEWHERE = {
    f"{_BUILDING}.drawing.Colour": "unlatch.objects.procedural.parameters",
    f"{_BUILDING}.drawing.draw_fields": "unlatch.objects.procedural.parameters",
}
"""Single names of these modules that are in another one."""

REMAINING = {
    "unlatch.simcore.geometry": ("unlatch.sensors", ("Fisheye", "Pinhole")),
    "unlatch.simcore.randomization": (
        "unlatch.randomization",
        (
            *("SIMULATION_CONTEXT", "AttributeSlot", "DistractorsCfg", "Firing", "Graph", "PerceptionCfg"),
            *("RandomizationCfg", "RuleCfg", "Setup", "ViewCfg", "current", "gate", "graph", "new_setup"),
            *("orchestrator", "physics_view", "trigger", "use", "utils"),
        ),
    ),
    f"{_RECORDING}.export": ("unlatch.exporters", ("Exporter",)),
    "unlatch.workflows.testing": (
        "unlatch.testing",
        (
            *("check_exporter", "check_object", "check_robot", "check_sensor", "check_skill", "check_task"),
            "check_term",
        ),
    ),
}
"""Modules that are still there without these names, and where the names are now."""

ROBOTS = {
    f"unlatch.robots.{name}": name
    for name in ("baxter", "dual_panda", "fr3", "franka_panda", "franka_robotiq", "ur5", "ur5e", "xarm6")
}
"""Robots by the module that they had, with the functions `NAME()` and `urdf_path()`."""

PARENTS = {".".join(words[:n]) for words in (name.split(".") for name in GONE) for n in range(2, len(words))}
"""Packages of the modules that are gone."""
