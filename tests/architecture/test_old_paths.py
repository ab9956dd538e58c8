"""Names that the pages, examples and templates of version 0.2 imported or listed are still there, with a warning."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable
from dataclasses import make_dataclass
from typing import Annotated, Any

import numpy as np
import pytest

from unlatch import objects, old_paths, robots
from unlatch.simcore import randomization

NAMED = {
    "unlatch.configs.composition": "compose_config",
    "unlatch.configs.json_schema": "field_docs",
    "unlatch.configs.schema": "Scenery",
    "unlatch.configs.setting_file": "read_setting_file",
    "unlatch.objects": "ObjectCfg load_object",
    "unlatch.objects.annotation": "Articulation Handle HandleType Part PartKind",
    "unlatch.objects.importers.asset_converter_base": "AssetConverterBase AssetConverterBaseCfg",
    "unlatch.objects.importers.made_urdf": "urdf_of",
    "unlatch.objects.importers.mesh_converter": "MeshConverter MeshConverterCfg",
    "unlatch.objects.importers.property_groups": "CollisionPropertiesCfg MassPropertiesCfg RigidBodyPropertiesCfg",
    "unlatch.objects.importers.urdf_converter": "DriveType UrdfConverter UrdfConverterCfg",
    "unlatch.objects.procedural.building.assembly": "Assembly HOLDING ObjectGenerator PartMotion lid_motion",
    "unlatch.objects.procedural.building.drawing": "Colour draw_fields one_of uniform",
    "unlatch.objects.procedural.building.finishes": "CHROME DARK PLASTICS",
    "unlatch.objects.procedural.building.link_builder": "DRAWER_FRONT LID_BEHIND LinkBuilder PanelBuilder",
    "unlatch.objects.procedural.building.panel_handles": "PanelGrip",
    "unlatch.objects.scene_object": "SceneObject",
    "unlatch.robots.fr3": "fr3",
    "unlatch.robots.franka_panda": "franka_panda urdf_path",
    "unlatch.robots.franka_robotiq": "franka_robotiq",
    "unlatch.robots.robot": "Robot",
    "unlatch.simcore.errors": "AssetError ConfigError SimCoreError check_range",
    "unlatch.simcore.geometry": "Fisheye Pinhole Pose",
    "unlatch.simcore.meshes.decomposition.collision_approximation": "CollisionApproximation",
    "unlatch.simcore.randomization.distribution": "Distribution",
    "unlatch.simcore.randomization.node_graph": "COUNT FILTER FRAME RANDOM WRITE_ARTICULATION WRITE_CONTEXT",
    "unlatch.simcore.recording.data_set.data_set": "DataSet",
    "unlatch.simcore.recording.episode": "EpisodeRecord",
    "unlatch.simcore.recording.export": "Exporter",
    "unlatch.simcore.recording.export.exporter": "Exporter",
    "unlatch.simcore.recording.export.lerobot": "LeRobotSet",
    "unlatch.simcore.recording.export.lerobot.reader": "LeRobotSet",
    "unlatch.simcore.recording.images.pytorch_listener": "PytorchListener",
    "unlatch.simcore.recording.images.pytorch_writer": "PytorchWriter",
    "unlatch.simcore.recording.images.renders": "RenderSet",
    "unlatch.simcore.recording.recorder": "EpisodeRecorder",
    "unlatch.simcore.sim.annotators.annotated_frame": "AnnotatedFrame take_annotated_frame",
    "unlatch.simcore.sim.annotators.annotations": "annotate",
    "unlatch.simcore.sim.annotators.annotator": "Annotator",
    "unlatch.simcore.sim.annotators.config": "AnnotationCfg",
    "unlatch.simcore.sim.annotators.formats.reference_nodes": "NodeOutput dope_output pose_output",
    "unlatch.simcore.sim.bodies": "Body",
    "unlatch.simcore.sim.contacts": "ContactMonitor",
    "unlatch.simcore.sim.converted_body": "load_converted",
    "unlatch.simcore.sim.drives": "DriveGroup",
    "unlatch.simcore.sim.joint_drive": "DriveMode JointDrive",
    "unlatch.simcore.sim.renderers.renderer": "Renderer",
    "unlatch.simcore.sim.scene": "Scene",
    "unlatch.simcore.sim.sensors.camera": "Camera CameraCfg",
    "unlatch.simcore.sim.sensors.camera_cfg": "CameraCfg",
    "unlatch.simcore.sim.sensors.catalog": "SENSORS",
    "unlatch.simcore.sim.sensors.config": "MountCfg SensorCfg",
    "unlatch.simcore.sim.sensors.imu": "Imu",
    "unlatch.simcore.sim.sensors.lidar": "Lidar",
    "unlatch.simcore.sim.sensors.sensor": "Sensor",
    "unlatch.simcore.sim.views.articulation_view": "ArticulationView",
    "unlatch.simcore.sim.views.grid_cloner": "GridCloner",
    "unlatch.simcore.sim.views.rigid_prim_view": "RigidPrimView",
    "unlatch.simcore.sim.visuals.pictures": "LookAtCamera framing_camera take_picture",
    "unlatch.simcore.sim.world": "World WorldCfg",
    "unlatch.simcore.state": "Buffer Module",
    "unlatch.simcore.state.module": "Module Rendering",
    "unlatch.skills.articulation": "ArticulationSkill",
    "unlatch.skills.catalog": "SKILLS",
    "unlatch.skills.close": "Close",
    "unlatch.skills.contract": "JointMotion ManipCommand ManipKind Phase",
    "unlatch.skills.contract.command": "ManipCommand ManipKind Phase",
    "unlatch.skills.contract.config": "SkillCfg",
    "unlatch.skills.contract.context": "SkillContext Views",
    "unlatch.skills.contract.failure": "Failure",
    "unlatch.skills.contract.skill": "Skill",
    "unlatch.skills.holding": "HoldingSkill",
    "unlatch.skills.open": "Open",
    "unlatch.skills.rotate": "Rotate",
    "unlatch.solver.diagnosis.diagnosis": "Diagnosis",
    "unlatch.solver.goal.goal_solver": "GoalSolver",
    "unlatch.solver.kinematics": "Kinematics",
    "unlatch.solver.planning.plan": "KeyframePlan",
    "unlatch.solver.planning.planner": "plan_keyframes",
    "unlatch.solver.scene": "ArmModel JointGeometry PlanningScene",
    "unlatch.solver.settings.hand_motions": "MOTION_MODES MOTION_WORDS",
    "unlatch.solver.settings.peer_form": "IGNORED",
    "unlatch.solver.settings.setting": "SuccessMode",
    "unlatch.solver.terms.axis": "FrameAxisParallel KeypointAxisParallel",
    "unlatch.solver.terms.catalog": "TERMS",
    "unlatch.solver.terms.point2point": "Point2Point",
    "unlatch.solver.terms.row": "PlaneRow",
    "unlatch.solver.terms.term": "Term tool_point",
    "unlatch.tasks.relation": "RelationKind",
    "unlatch.tasks.task": "TaskCfg",
    "unlatch.workflows.cli.command_line": "CommandLine",
    "unlatch.workflows.cli.composed_configs": "load_configs",
    "unlatch.workflows.cli.help_text": "fit_to_width",
    "unlatch.workflows.episode.episode": "Episode",
    "unlatch.workflows.episode.planner_models": "arm_model",
    "unlatch.workflows.gym.config": "ActionMode",
    "unlatch.workflows.gym.env": "UnlatchEnv",
    "unlatch.workflows.policies.lerobot": "Checkpoint SequentialPolicy",
    "unlatch.workflows.runs.recorded_config": "config_of",
    "unlatch.workflows.runs.runner": "EpisodeRunner",
    "unlatch.workflows.runs.schema": "CollectCfg",
    "unlatch.workflows.testing": "check_object check_skill check_task",
    "unlatch.workflows.viewing.acted_part": "find_acted_part",
    "unlatch.workflows.viewing.clips.views": "choose_view",
    "unlatch.workflows.viewing.recorded_moments": "last_finite_frame",
    "unlatch.workflows.viewing.scene_picture": "RecordedWorld open_record",
    "unlatch.workflows.viewing.viewers.recorded_scene": "RecordedScene",
}
"""Names by the module of version 0.2."""
RANDOMIZATION = "gate graph new_setup orchestrator physics_view trigger utils"
"""What pages called as `dr.NAME`."""
CASES = [(module, name) for module, names in NAMED.items() for name in names.split()]
CASES += [("unlatch.simcore.randomization", name) for name in RANDOMIZATION.split()]


def warned(act: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(item.message) for item in caught if issubclass(item.category, DeprecationWarning)]


@pytest.mark.parametrize(("module", "name"), CASES, ids=lambda word: word)
def test_a_name_of_version_0_2_is_there_and_a_moved_one_says_where_it_is(module: str, name: str):
    found = importlib.import_module(module)
    if module not in old_paths.GONE and name not in old_paths.REMAINING.get(module, ("", ()))[1]:
        assert hasattr(found, name)
        return
    vars(found).pop(name, None)  # a name that was used before is kept, and warns no more
    (text,) = warned(lambda: getattr(found, name))
    old, new = re.fullmatch(r"(\S+) is (\S+) now\. The next version has only that name\.", text).groups()
    assert old == f"{module}.{name}"
    home, _, new_name = new.rpartition(".")
    assert getattr(importlib.import_module(home), new_name) is getattr(found, name)


@pytest.mark.parametrize("module", [*old_paths.GONE, *old_paths.REMAINING])
def test_an_entry_of_the_table_leads_to_a_module(module: str):
    new = old_paths.GONE.get(module) or old_paths.REMAINING[module][0]
    assert importlib.import_module(module).__name__ == module
    assert importlib.import_module(new).__name__ == new


@pytest.mark.parametrize("module", old_paths.GONE)
def test_a_name_that_never_was_is_refused_with_the_new_module(module: str):
    with pytest.raises(AttributeError, match="never_was"):
        _ = importlib.import_module(module).never_was


@pytest.mark.parametrize("name", old_paths.ROBOTS)
def test_the_module_of_a_robot_makes_its_description(name: str):
    module = importlib.import_module(f"unlatch.robots.{name}")
    (text,) = warned(lambda: getattr(module, name))
    assert f"unlatch.robots.load_robot('{name}')" in text
    with pytest.warns(DeprecationWarning, match="load_robot"):
        assert getattr(module, name)() == robots.load_robot(name)


def test_the_module_of_the_panda_has_its_model():
    with pytest.warns(DeprecationWarning, match=r"unlatch\.robots\.model_path\('franka_panda'\)"):
        from unlatch.robots.franka_panda import urdf_path
    assert urdf_path() == robots.model_path("franka_panda")


def test_a_package_whose_names_moved_still_has_its_modules():
    assert warned(lambda: randomization.distribution) == []


def test_a_generator_in_the_form_of_version_0_2_makes_the_same_object():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from unlatch.objects.procedural.building.drawing import draw_fields, uniform
    assert uniform is objects.uniform
    sizes = make_dataclass("Sizes", [("width_m", Annotated[float, uniform(0.1, 0.2)]), ("height_m", float)])

    def draw(rng: np.random.Generator) -> Any:
        return draw_fields(sizes, rng, height_m=0.3)

    def build(assembly: objects.Assembly, p: Any) -> None:
        body = objects.LinkBuilder("body")
        body.box("block", (0.0, 0.0, 0.0), (p.width_m, p.width_m, p.height_m), rgba=(0.5, 0.5, 0.5, 1.0))
        assembly.add_body(body, mass_kg=1.0, edge=(0.0, 0.0, p.height_m))

    table = {"width_m": uniform(0.1, 0.2), "height_m": 0.3}
    old, new = objects.ObjectGenerator("block", draw, build)(3), objects.ObjectGenerator("block", table, build)(3)
    assert old.parameters == new.parameters
    assert repr(old.model) == repr(new.model)
