"""One Bullet client as a context manager, with a step of fixed and checked rates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pybullet as p
from numpy.typing import ArrayLike

from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.process import hold_native_output
from unlatch.simcore.ranges import Fraction, Range, check_ranges
from unlatch.simcore.sim.bodies import ROOT, Body
from unlatch.simcore.sim.core import Core
from unlatch.simcore.sim.visuals.visual_shapes import Light, Paint

if TYPE_CHECKING:
    from unlatch.simcore.sim.renderers.renderer import Renderer


def gives_arrays() -> bool:
    """Returns whether PyBullet was built with NumPy; without, each image is a tuple of numbers, which is slow."""
    return bool(p.isNumpyEnabled())


MAX_HZ = 100_000
"""Highest rate of a world [Hz]."""
MAX_GRAVITY_M_S2 = 100.0
"""Largest gravity, up or down [m/s^2]."""

_FILES_KEPT_FOR = 100
"""Number of loaded URDFs after which a reset empties Bullet's file cache. The cache never forgets a file, and each
procedural object is a new one: about 20 kB in every episode."""


@dataclass
class WorldCfg:
    """Rates and solver settings of a world."""

    physics_hz: Annotated[int, Range(1, MAX_HZ)] = 240
    """Physics steps per second."""
    control_hz: Annotated[int, Range(1, MAX_HZ)] = 60
    """Control steps per second, in which randomization acts and commands get lost; a divisor of `physics_hz`."""
    record_hz: Annotated[int, Range(1, MAX_HZ)] = 30
    """Record frames and actions per second; a divisor of `control_hz`."""
    solver_iterations: Annotated[int, Range(1, 10_000)] = 300
    """Largest number of iterations of Bullet's contact solver in a step; it stops earlier once it converges."""
    solver_tolerance: Fraction = 0.003
    """The solver has converged once its last iteration changed no relative velocity by more [m/s or rad/s]."""
    gravity_m_s2: Annotated[float, Range(-MAX_GRAVITY_M_S2, MAX_GRAVITY_M_S2)] = -9.81
    """Gravity along world z [m/s^2]."""

    def __post_init__(self) -> None:
        check_ranges(self, "world")
        for fast, slow in (("physics_hz", "control_hz"), ("control_hz", "record_hz")):
            a, b = getattr(self, fast), getattr(self, slow)
            if a % b != 0:
                raise ConfigError(
                    f"world.{slow}={b} does not divide world.{fast}={a}. "
                    f"Choose {slow} so that {fast} is a whole multiple of it.",
                    key=f"world.{slow}",
                )

    @property
    def control_steps(self) -> int:
        """Control steps in a record frame."""
        return self.control_hz // self.record_hz

    @property
    def physics_steps(self) -> int:
        """Physics steps in a control step."""
        return self.physics_hz // self.control_hz

    @property
    def steps_per_frame(self) -> int:
        """Physics steps in a record frame."""
        return self.physics_hz // self.record_hz

    def frames(self, seconds: float) -> int:
        """Returns the number of record frames that last at least a time [s]."""
        return math.ceil(seconds * self.record_hz - 1e-9)  # 0.1 s at 30 Hz are 3 frames, whatever 0.1 * 30 rounds to


def _bullets_reason(printed: str) -> str:
    """Returns the last messages among what Bullet printed, which say why it cannot read a file."""
    messages = [" ".join(text.split()) for text in re.split(r"b3(?:Warning|Error)\[[^\]]*\]:", printed)]
    return "; ".join([text.rstrip(":") for text in messages if text][-4:])


class World:
    """One Bullet client; use as a context manager, so that it is always disconnected.

    Every call to the engine passes this client. Bodies are found by name. After `reset` and the same loads and steps
    the state is the same to the bit, whatever ran before in this process.
    """

    def __init__(self, cfg: WorldCfg, *, visuals: bool = False, renderer: Renderer | None = None) -> None:
        """Makes a world; Bullet is connected on entry of the `with` block.

        Args:
            cfg: Rates and solver settings.
            visuals: Whether to load visual shapes; images need them, physics does not.
            renderer: Renderer of this world alone; None: the software renderer.
        """
        self.cfg = cfg
        self.visuals = visuals
        self._renderer = renderer
        self.bodies: dict[str, Body] = {}
        self.scenery: dict[str, Body] = {}
        """Visible bodies without any physics; only in a world with visual shapes."""
        self.light = Light()
        """Light of images; `reset` restores the default."""
        self.paint: dict[tuple[int, int, int], Paint] = {}
        """Paint of visual shapes, by Bullet's numbers of body and link and the index of the shape."""
        self.shown_step: int | None = None
        """Physics step of the recorded state that is shown now; None in a running world."""
        self.steps = 0
        self._urdfs_loaded = 0
        """Since Bullet's file cache was emptied."""
        self._client: int | None = None
        self._core: Core | None = None
        self._n_constraints = 0
        """After the last physics step."""
        self._before_step: list[Callable[[], None]] = []
        self._once_before_step: list[Callable[[], None]] = []
        self._after_step: list[Callable[[], None]] = []
        self._gravity_m_s2 = np.array([0.0, 0.0, cfg.gravity_m_s2])

    def __enter__(self) -> World:
        self._client = p.connect(p.DIRECT)
        if self._client < 0:
            raise WorldError("Bullet refused a DIRECT connection. Close other clients of this process and try again.")
        try:
            self._core = Core(self._client, dt=self.dt)
            if self._renderer is not None:
                self._renderer.open(self)
            self.reset()
        except WorldError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._client is not None:
            if self._renderer is not None:
                self._renderer.close()
            p.disconnect(physicsClientId=self._client)
            if self._core is not None:
                self._core.close()
            self._client = self._core = None

    @property
    def renderer(self) -> Renderer:
        """What draws the images of this world; loaded only if one is drawn."""
        if self._renderer is None:
            from unlatch.simcore.sim.renderers.software import SoftwareRenderer

            self._renderer = SoftwareRenderer()
        return self._renderer

    @property
    def client(self) -> int:
        """Bullet's client number.

        Raises:
            WorldError: The world is not open.
        """
        if self._client is None:
            raise WorldError("This World is closed. Use it inside `with World(cfg) as world:`.")
        return self._client

    @property
    def core(self) -> Core:
        """The physics loop of this world.

        Raises:
            WorldError: The world is not open.
        """
        if self._core is None:
            raise WorldError("This World is closed. Use it inside `with World(cfg) as world:`.")
        return self._core

    @property
    def dt(self) -> float:
        """Physics step [s]."""
        return 1.0 / self.cfg.physics_hz

    @property
    def time_s(self) -> float:
        """Simulated time since the last reset [s]."""
        return self.steps * self.dt

    def reset(self) -> None:
        """Removes all bodies and restores the engine's parameters."""
        client = self.client
        p.resetSimulation(physicsClientId=client)
        if self._urdfs_loaded >= _FILES_KEPT_FOR:
            p.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
            self._urdfs_loaded = 0
        p.setPhysicsEngineParameter(
            fixedTimeStep=self.dt,
            numSolverIterations=self.cfg.solver_iterations,
            solverResidualThreshold=self.cfg.solver_tolerance**2,
            numSubSteps=0,  # with substeps, contact forces read a fraction of what they are
            deterministicOverlappingPairs=1,
            enableFileCaching=1,  # the state of a run does not depend on it
            restitutionVelocityThreshold=0.2,
            physicsClientId=client,
        )
        self.set_gravity((0.0, 0.0, self.cfg.gravity_m_s2))
        self.bodies = {}
        self.scenery = {}
        self.light = Light()
        self.paint = {}
        self.shown_step = None
        self.steps = 0
        self._before_step, self._once_before_step, self._after_step = [], [], []
        self.core.finger_motors = []
        self._note_bodies()

    @property
    def gravity_m_s2(self) -> Array:
        """(3,) gravity now, world frame [m/s^2]; `reset` restores that of the configuration."""
        return self._gravity_m_s2.copy()

    def set_gravity(self, gravity_m_s2: ArrayLike) -> None:
        """Sets gravity (3,), world frame [m/s^2], until the next `reset`."""
        self._gravity_m_s2 = np.array(gravity_m_s2, dtype=float)
        p.setGravity(*self._gravity_m_s2.tolist(), physicsClientId=self.client)
        self.core.set_gravity(self._gravity_m_s2)

    def call_before_step(self, function: Callable[[], None]) -> None:
        """Registers a function that runs before every physics step until the next `reset`.

        Where one is registered, here or by `call_after_step`, steps are run one by one, which takes longer.
        """
        self._before_step.append(function)

    def call_after_step(self, function: Callable[[], None]) -> None:
        """Registers a function that runs after every physics step until the next `reset`; see `call_before_step`."""
        self._after_step.append(function)

    def call_once_before_step(self, function: Callable[[], None]) -> None:
        """Lets a function run before the next physics step alone."""
        self._once_before_step.append(function)

    def step(self, steps: int = 1, *, first: int = 0, keeps_states: bool = False) -> None:
        """Runs physics steps of `dt`.

        Args:
            steps: Their number.
            first: Number of the first one among the steps whose contacts a `ContactMonitor` samples together; 0 begins
                anew.
            keeps_states: Whether nothing has moved a body since the last step, other than the methods of `Body`.
        """
        if not keeps_states:
            self._forget_states()
        if self._once_before_step:
            functions, self._once_before_step = self._once_before_step, []
            for function in functions:
                function()
        if self._before_step or self._after_step:
            for step in range(first, first + steps):
                for function in self._before_step:
                    function()
                self.core.run(1, first=step)
                self.steps += 1
                for function in self._after_step:
                    function()
        else:
            self.core.run(steps, first=first)
            self.steps += steps
        self.shown_step = None
        self._n_constraints = p.getNumConstraints(physicsClientId=self.client)

    def _forget_states(self) -> None:
        for body in self.bodies.values():
            body.forget_state()

    def _note_bodies(self) -> None:
        """Tells the core which bodies there are."""
        self.core.set_bodies([body.state for body in self.bodies.values()])

    def signature(self) -> dict[str, object]:
        """Returns values that only physics steps change: poses and joint states by body, and the number of constraints.

        If it changes without a step in between, some code has moved a body past the physics.
        """
        self._forget_states()
        states = {name: body.read_state() for name, body in self.bodies.items()}
        found: dict[str, object] = {
            name: state.root[:7].tobytes() + state.q.tobytes() + state.dq.tobytes() for name, state in states.items()
        }
        found["constraints"] = p.getNumConstraints(physicsClientId=self.client)
        return found

    def find_moved(self) -> list[str]:
        """Returns what has changed since the last physics step: a body that moved, or the number of constraints."""
        place = self.core.find_moved()
        found = [] if place is None else [list(self.bodies)[place]]
        if p.getNumConstraints(physicsClientId=self.client) != self._n_constraints:
            found.append("constraints")
        return found

    def load_urdf(
        self,
        path: Path,
        *,
        name: str,
        T_world_root: Pose,
        self_collision: bool = False,
        friction: float = 0.6,
        fixed: bool = True,
        face_contacts: bool = False,
    ) -> Body:
        """Loads a URDF with its motors off.

        Args:
            path: The URDF file.
            name: Name of the body in this world.
            T_world_root: Pose of the root link's frame.
            self_collision: Whether links of this body collide with each other; parent and child never do, nor do links
                that no joint moves relative to each other.
            friction: Lateral friction of every link; Bullet multiplies the frictions of two bodies in contact.
            fixed: Whether the root is fixed in the world; otherwise it is free, unless it has no mass.
            face_contacts: Whether flat faces touch another such body with several points in every step, from the
                overlap of the faces. Otherwise Bullet finds one point a step, and keeps earlier ones.

        Raises:
            WorldError: The name is taken or Bullet cannot read the file.
        """
        self._check_name(name)
        flags = p.URDF_USE_INERTIA_FROM_FILE
        make_shapes = None
        if self.visuals:
            from unlatch.simcore.sim.visuals import kept_shapes  # few worlds are drawn

            make_shapes = kept_shapes.find_kept_shapes(path) if path.is_file() else None
        if make_shapes or not self.visuals:
            flags |= p.URDF_IGNORE_VISUAL_SHAPES  # five times faster to load
        if self_collision:
            flags |= p.URDF_USE_SELF_COLLISION
        if face_contacts:
            flags |= p.URDF_INITIALIZE_SAT_FEATURES
        self._urdfs_loaded += 1
        try:
            with hold_native_output() as said:
                body_id = p.loadURDF(str(path), useFixedBase=fixed, flags=flags, physicsClientId=self.client)
        except p.error as exc:
            reason = _bullets_reason("".join(said)) or str(exc).rstrip(".")
            raise WorldError(
                f"Bullet cannot load '{path}' ({reason}). Expected a readable URDF whose meshes exist. Fix the file.",
                path=str(path),
            ) from exc
        body = Body(self.core, body_id, name=name, friction=friction, has_model=True)
        if make_shapes:
            body.visual_shapes = make_shapes(body_id)
        elif self.visuals:
            kept_shapes.keep_shapes(path, body_id, client=self.client)
        body.fixed = fixed or p.getDynamicsInfo(body_id, ROOT, physicsClientId=self.client)[0] == 0.0
        body.set_root_pose(T_world_root)
        if self_collision and fixed:
            body.ignore_rigid_pairs()
        self.bodies[name] = body
        self._note_bodies()
        return body

    def add_box(
        self,
        name: str,
        *,
        size_m: ArrayLike,
        T_world_box: Pose,
        rgba: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0),
        friction: float = 0.6,
        mass_kg: float = 0.0,
    ) -> Body:
        """Adds a box: immovable (floor, table, plinth), or free where it has a mass.

        Args:
            name: Name of the body in this world.
            size_m: (3,) edge lengths [m].
            T_world_box: Pose of its centre.
            rgba: Colour.
            friction: Lateral friction.
            mass_kg: Mass; 0 = immovable.
        """
        half = (np.asarray(size_m, dtype=float) / 2.0).tolist()
        return self._add_solid(name, p.GEOM_BOX, {"halfExtents": half}, T_world_box, rgba, friction, mass_kg)

    def add_sphere(
        self,
        name: str,
        *,
        radius_m: float,
        T_world_sphere: Pose,
        mass_kg: float,
        rgba: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0),
        friction: float = 0.6,
    ) -> Body:
        """Adds a sphere, immovable where its mass is 0; else as `add_box`."""
        return self._add_solid(name, p.GEOM_SPHERE, {"radius": radius_m}, T_world_sphere, rgba, friction, mass_kg)

    def _add_solid(
        self,
        name: str,
        kind: int,
        size: dict[str, float | list[float]],
        T_world_solid: Pose,
        rgba: tuple[float, float, float, float],
        friction: float,
        mass_kg: float,
    ) -> Body:
        self._check_name(name)
        shape = p.createCollisionShape(kind, **size, physicsClientId=self.client)
        visual = p.createVisualShape(kind, **size, rgbaColor=rgba, physicsClientId=self.client)
        body_id = p.createMultiBody(
            baseMass=mass_kg,
            baseCollisionShapeIndex=shape,
            baseVisualShapeIndex=visual,
            basePosition=T_world_solid.p.tolist(),
            baseOrientation=T_world_solid.quat_xyzw.tolist(),
            physicsClientId=self.client,
        )
        body = Body(self.core, body_id, name=name, friction=friction)
        body.fixed = mass_kg == 0.0
        if body.fixed:
            # Bullet multiplies the restitutions of a contact: a fixed body must not remove the bounce of a falling one
            p.changeDynamics(body_id, -1, restitution=1.0, physicsClientId=self.client)
        self.bodies[name] = body
        self._note_bodies()
        return body

    def remove(self, name: str) -> None:
        """Removes a body.

        Raises:
            WorldError: No such body.
        """
        if name not in self.bodies:
            raise WorldError(f"Body '{name}' is not in this world. Bodies: {sorted(self.bodies)}.", body=name)
        p.removeBody(self.bodies.pop(name).body_id, physicsClientId=self.client)
        self._note_bodies()

    @property
    def picture_step(self) -> int:
        """Physics step of the visible state: of the recorded state that is shown, or else the present step."""
        return self.steps if self.shown_step is None else self.shown_step

    def seen_bodies(self) -> list[Body]:
        """Returns all bodies that may be in an image: bodies, then scenery, which follows its carriers first."""
        for body in self.scenery.values():
            body.follow()
        return [*self.bodies.values(), *self.scenery.values()]

    def name_of(self, body_id: int) -> str:
        """Returns the name of a body by Bullet's number."""
        for name, body in self.bodies.items():
            if body.body_id == body_id:
                return name
        raise WorldError(f"No body has number {body_id}. Bodies: {sorted(self.bodies)}.")

    def _check_name(self, name: str) -> None:
        if name in self.bodies:
            raise WorldError(f"A body named '{name}' is already in this world. Choose another name.", name=name)

    def __repr__(self) -> str:
        state = "closed" if self._client is None else f"{sorted(self.bodies)}, t={self.time_s:.3f} s"
        return f"World({state})"
