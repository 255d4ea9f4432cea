"""Kernels of the detection of contacts at a distance (`gliding`)."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.compiled.calls import load_double
from asperity.plant.detection.pressed_contacts import widen_for_pressed, within_reach_of_force
from asperity.plant.detection.sweep import goes_through
from asperity.plant.plant_layouts import GLIDING
from asperity.plant.rotations import between

__all__ = ["comes_too_fast", "counts_at_distance", "gliding_model"]

# Heights that count, over that of gliding.
_ABOVE = 1.25
_BELOW = 0.5


@compiled
def _dof_velocities(plant: Table, state: Table, velocity: np.ndarray) -> None:
    """Spatial velocity of what each degree of freedom moves, at its tree's centre of mass."""
    cdof = state.mj_cdof
    for dof in range(plant.nv):
        parent = plant.dofs.parent[dof]
        for a in range(6):
            velocity[dof, a] = cdof[dof, a] * state.qvel[dof]
            if parent >= 0:
                velocity[dof, a] += velocity[parent, a]


@compiled
def _centre_velocities(plant: Table, state: Table, gliding: Table) -> tuple[float, float, float]:
    """Velocities of the centres of geoms; returns the mean of those that move [m/s]."""
    velocity = gliding.geom_velocity
    moving = 0
    sum_x = sum_y = sum_z = 0.0
    for g in range(velocity.shape[0]):
        body = plant.geoms.body[g]
        dof = plant.bodies.last_dof[body]
        if dof < 0:
            continue
        root = plant.bodies.root[body]
        x, y, z = between(state.mj_geom_xpos, g, state.mj_subtree_com, root)
        v = gliding.dof_velocity[dof]
        velocity[g, 0] = v[3] + v[1] * z - v[2] * y
        velocity[g, 1] = v[4] + v[2] * x - v[0] * z
        velocity[g, 2] = v[5] + v[0] * y - v[1] * x
        velocity[g, 3] = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        sum_x += velocity[g, 0]
        sum_y += velocity[g, 1]
        sum_z += velocity[g, 2]
        moving += 1
    share = 1.0 / max(moving, 1)
    return share * sum_x, share * sum_y, share * sum_z


@compiled
def _time(gliding: Table, step: float, relaxation: float) -> float:
    """T: how long it takes to fall from where a body glides, at the speed that the law allows."""
    if gliding.relaxes == 0:
        return step
    if relaxation < 0.0:
        relaxation = gliding.default_relaxation
    return step + (relaxation if relaxation >= 0.0 else step)


@compiled
def comes_too_fast(plant: Table, state: Table, a: int, b: int, touched: bool) -> bool:
    """Whether one of two geoms would pass through the other in the coming step, without turning.

    Of geoms that touch, the centre of one must go through all of the other: one may slide.
    """
    gliding = GLIDING.at(state.gliding)
    if gliding.fast[a] + gliding.fast[b] == 0:
        return False
    now = (state.mj_geom_xpos, state.mj_geom_xmat)
    ahead = (gliding.ahead, state.mj_geom_xmat)
    return goes_through(plant, a, b, touched, now, ahead) or goes_through(
        plant, b, a, touched, now, ahead
    )


@compiled
def _free_bodies_are_slow(plant: Table, state: Table, gliding: Table) -> bool:
    """Whether all is free bodies that move by less than the thinnest of their geoms in a step."""
    qvel = state.qvel
    for tree in range(plant.ntree):
        if not plant.trees.spatial[tree] or plant.trees.size[tree] > 6:
            return False
        s = plant.trees.start[tree]
        speed = np.sqrt(qvel[s] * qvel[s] + qvel[s + 1] * qvel[s + 1] + qvel[s + 2] * qvel[s + 2])
        s += 3
        spin = np.sqrt(qvel[s] * qvel[s] + qvel[s + 1] * qvel[s + 1] + qvel[s + 2] * qvel[s + 2])
        if state.step * (speed + spin * gliding.tree_reach[tree]) > gliding.tree_inner_radius[tree]:
            return False
    return True


@compiled
def _find_motion(
    plant: Table, state: Table, gliding: Table, mean: tuple[float, float, float]
) -> None:
    """Mark geoms that move beyond themselves in the coming step, and those relative to a mean."""
    for g in plant.geoms.colliding:
        square = 0.0
        relative = 0.0
        for a in range(3):
            speed = gliding.geom_velocity[g, a]
            gliding.ahead[g, a] = state.mj_geom_xpos[g, a] + state.step * speed
            square += speed * speed
            relative += (speed - mean[a]) * (speed - mean[a])
        radius = plant.geoms.inner_radius[g]
        limit = radius * radius
        gliding.fast[g] = 1 if state.step * state.step * square > limit else 0
        gliding.moves[g] = 1 if state.step * state.step * relative > limit else 0
        gliding.reach[g] = plant.geoms.extent[g] + state.step * np.sqrt(square)


@compiled
def _may_pass(plant: Table, state: Table, gliding: Table, a: int, b: int) -> bool:
    """Whether two geoms approach by more than both inner radii, are near enough, and collide."""
    geoms = plant.geoms
    velocity = gliding.geom_velocity
    relative = 0.0
    for k in range(3):
        relative += (velocity[a, k] - velocity[b, k]) * (velocity[a, k] - velocity[b, k])
    allowed = geoms.inner_radius[a] + geoms.inner_radius[b]
    if state.step * state.step * relative <= allowed * allowed:
        return False
    square = 0.0
    for k in range(3):
        between = state.mj_geom_xpos[a, k] - state.mj_geom_xpos[b, k]
        square += between * between
    reach = gliding.reach[a] + gliding.reach[b]
    return square <= reach * reach and geoms.collides[a, b] == 1


@compiled
def _look_ahead(
    plant: Table, state: Table, gliding: Table, mean: tuple[float, float, float]
) -> bool:
    """Whether any geom would pass through another in the coming step; marks those that would.

    Of two geoms that approach by more than both inner radii, one has moved more than its own,
    relative to anything.
    """
    fast, moves = gliding.fast, gliding.moves
    _find_motion(plant, state, gliding, mean)
    found = False
    colliding = plant.geoms.colliding
    for i in range(colliding.size):
        a = colliding[i]
        if moves[a] == 0:
            continue
        for j in range(colliding.size):
            b = colliding[j]
            if (
                (j > i or moves[b] == 0)
                and _may_pass(plant, state, gliding, a, b)
                and comes_too_fast(plant, state, a, b, False)
            ):
                found = True
                fast[a] = 2 * min(fast[a], 1)
                fast[b] = 2 * min(fast[b], 1)
    for g in colliding:
        fast[g] //= 2
    return found


@compiled
def _model_with_margins(gliding: Table) -> int:
    """Address of the mjModel whose margins are those of the user's and what geoms add to them."""
    body_margin = gliding.body_margin
    for body in range(body_margin.size):
        body_margin[body] = 0.0
    largest = 0.0
    for g in range(gliding.added.size):
        largest = max(largest, gliding.added[g])
        margin = gliding.own_geom_margin[g] + gliding.added[g]
        gliding.geom_margin[g] = margin
        body = gliding.geom_body[g]
        body_margin[body] = max(body_margin[body], margin)
    for p in range(gliding.pair_margin.size):
        gliding.pair_margin[p] = (
            gliding.own_pair_margin[p]
            + gliding.added[gliding.pair_geom[p, 0]]
            + gliding.added[gliding.pair_geom[p, 1]]
        )
    gliding.option_margin[0] = gliding.own_option_margin + 2.0 * largest
    return gliding.model


@compiled
def gliding_model(plant: Table, state: Table, looks_ahead: bool) -> int:
    """Address of an mjModel with margins for what glides, is too fast for its step, or was pressed.

    They are as wide as that may come near; 0 if there is no such thing. The state's kinematics are
    valid. Without ``looks_ahead`` nothing is too fast.
    """
    gliding = GLIDING.at(state.gliding)
    if gliding.before != 0:
        widen_for_pressed(gliding)
        return _model_with_margins(gliding)
    if gliding.glides == 0 and (
        gliding.looks_ahead == 0 or _free_bodies_are_slow(plant, state, gliding)
    ):
        return 0
    _dof_velocities(plant, state, gliding.dof_velocity)
    # Two geoms move relative to each other no faster than both together relative to anything: to
    # the mean, so that what falls side by side gets no margins.
    mx, my, mz = _centre_velocities(plant, state, gliding)
    fast = False
    if not looks_ahead:
        for g in range(gliding.fast.size):
            gliding.fast[g] = 0
    elif gliding.looks_ahead == 1:
        fast = _look_ahead(plant, state, gliding, (mx, my, mz))
    if not fast and gliding.glides == 0:
        return 0
    time = max(_time(gliding, state.step, -1.0), _time(gliding, state.step, gliding.relaxation))
    share = _ABOVE * time * gliding.friction
    turning_share = _ABOVE * time * gliding.turning_friction
    velocity = gliding.geom_velocity
    for g in range(gliding.added.size):
        x = velocity[g, 0] - mx
        y = velocity[g, 1] - my
        z = velocity[g, 2] - mz
        added = share * (
            np.sqrt(x * x + y * y + z * z)
            + velocity[g, 3] * gliding.radius[g]
            + gliding.surface_speed[g]
        )
        added += turning_share * velocity[g, 3]
        if fast and gliding.fast[g] == 1:
            x, y, z = velocity[g, 0], velocity[g, 1], velocity[g, 2]
            turning = velocity[g, 3] * gliding.radius[g]
            added = max(added, state.step * (np.sqrt(x * x + y * y + z * z) + turning))
        gliding.added[g] = added
    return _model_with_margins(gliding)


@compiled
def _component(
    gliding: Table, plant: Table, state: Table, c: int, axis: int
) -> tuple[float, float]:
    """Relative velocity of the bodies at a contact along one of its axes, and about it."""
    contacts = state.contacts
    frame = contacts.frame
    k = 3 * axis
    total = turn = 0.0
    for side in range(2):
        body = plant.geoms.body[contacts.geom[c, side]]
        dof = plant.bodies.last_dof[body]
        if dof < 0:
            continue
        root = plant.bodies.root[body]
        arm_x, arm_y, arm_z = between(contacts.point, c, state.mj_subtree_com, root)
        v = gliding.dof_velocity[dof]
        x = v[3] + v[1] * arm_z - v[2] * arm_y
        y = v[4] + v[2] * arm_x - v[0] * arm_z
        z = v[5] + v[0] * arm_y - v[1] * arm_x
        sign = 1.0 if side == 1 else -1.0
        total += sign * (x * frame[c, k] + y * frame[c, k + 1] + z * frame[c, k + 2])
        turn += sign * (v[0] * frame[c, k] + v[1] * frame[c, k + 1] + v[2] * frame[c, k + 2])
    return total, turn


@compiled
def counts_at_distance(plant: Table, state: Table, c: int, address: int) -> bool:
    """Whether a contact of the set counts, if it was found within a margin.

    ``address`` is that of MuJoCo's contact.
    """
    contacts = state.contacts
    gliding = GLIDING.at(state.gliding)
    distance = contacts.signed_distance[c]
    own = gliding.own_option_margin
    if gliding.overridden == 0:
        own = (
            load_double(address + plant.offsets.contact_margin)
            - gliding.added[contacts.geom[c, 0]]
            - gliding.added[contacts.geom[c, 1]]
        )
    if distance <= max(own, 0.0):
        return True
    if gliding.before != 0:
        return within_reach_of_force(state, c)
    if gliding.glides == 0:
        return False
    x, roll_x = _component(gliding, plant, state, c, 0)
    y, roll_y = _component(gliding, plant, state, c, 1)
    normal, spin = _component(gliding, plant, state, c, 2)
    x += contacts.surface_velocity[c, 0]
    y += contacts.surface_velocity[c, 1]
    turn = 0.0
    if contacts.ellipsoidal[c] != 0:
        scale = contacts.slip_scale[c]
        y *= scale[0]
        turn = (scale[1] * roll_x) ** 2 + (scale[2] * roll_y) ** 2 + (scale[3] * spin) ** 2
    time = _time(gliding, state.step, contacts.relaxation_time[c])
    friction = contacts.dynamic_friction[c]
    height = time * friction * np.sqrt(x * x + y * y + turn)
    change = gliding.gravity * state.step
    if distance > min(_ABOVE * height, height + time * (2.0 * (1.0 + friction) * change - normal)):
        return False
    pressed = gliding.gravity / max(contacts.inverse_mass[c] * contacts.stiffness[c], 1e-300)
    return distance >= _BELOW * height - time * (abs(normal) + change) - pressed
