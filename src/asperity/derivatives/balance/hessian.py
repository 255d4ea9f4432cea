"""The derivative H = ∂g/∂v of a step's momentum balance by its velocity.

H = A − ∂(Jᵀγ)/∂v − ∂(Gᵀλ)/∂v, and where gyroscopic forces are those of the middle of the step
their derivative by v. It is not symmetric where friction depends on the normal velocity.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.laws import friction_slope
from asperity.convex.ellipsoids import slip_square
from asperity.convex.potentials.contact_driver import evaluate_exactly
from asperity.derivatives.balance.middle_velocity import add_middle_columns
from asperity.derivatives.balance.row_changes import row_piece
from asperity.derivatives.balance.sides import body_of_side, contact_axes, has_weights
from asperity.derivatives.layout import DELIVERED_BOUND, FRICTION_ALONE
from asperity.plant.trees import force_from_solver

__all__ = ["add_products", "fill_hessian"]

# The component along the normal, beside those of the slip.
_NORMAL = 2


@compiled
def _fill_inertia(world: Table, work: Table, state: Table) -> None:
    """Fill A by generalized velocities."""
    plant = world.plant
    trees = plant.trees
    problem = world.problem
    graph = problem.graph
    matrix = problem.smooth.matrix
    system = work.system
    cdof = state.cdof
    for i in range(graph.nv):
        for j in range(graph.nv):
            system[i, j] = 0.0
    x = np.zeros(6)
    y = np.zeros(6)
    for tree in range(plant.ntree):
        s = trees.start[tree]
        n = trees.size[tree]
        block = trees.block_start[tree]
        if not trees.spatial[tree]:
            for i in range(n):
                for j in range(n):
                    system[s + i, s + j] = matrix[block + i * n + j]
            continue
        for j in range(6):
            for a in range(6):
                x[a] = cdof[s + j, a]
            for a in range(6):
                y[a] = 0.0
                for b in range(6):
                    y[a] += matrix[block + 6 * a + b] * x[b]
            for i in range(6):
                value = 0.0
                for a in range(6):
                    value += cdof[s + i, a] * y[a]
                system[s + i, s + j] = value
    bond_tree = plant.elastic.bond_tree
    for bond in range(len(bond_tree)):
        one = bond_tree[bond, 0]
        other = bond_tree[bond, 1]
        for i in range(trees.size[one]):
            for j in range(trees.size[other]):
                value = problem.smooth.bond[bond, 3 * i + j]
                system[trees.start[one] + i, trees.start[other] + j] = value
                system[trees.start[other] + j, trees.start[one] + i] = value


@compiled
def _add_chain(
    state: Table, rows: np.ndarray, axes: np.ndarray, c: int, side: int, arm: np.ndarray
) -> None:
    """Add one side's part to the rows of a contact whose sides are points between vertices."""
    contacts = state.contacts
    sign = 1.0 if side == 1 else -1.0
    link = contacts.link[c, side]
    first = contacts.link_start[link]
    for e in range(first, first + contacts.link_size[link]):
        dof = contacts.chain_dof[e]
        column = contacts.chain_column[e]
        for k in range(3):
            one = (k + 1) % 3
            two = (k + 2) % 3
            speed = column[3 + k] + column[one] * arm[c, two] - column[two] * arm[c, one]
            for a in range(3):
                rows[a, dof] += sign * axes[a, k] * speed
            for a in range(3, len(rows)):
                rows[a, dof] += sign * axes[a, k] * column[k]


@compiled
def _add_side(
    plant: Table, work: Table, state: Table, i: int, c: int, side: int, arm: np.ndarray
) -> None:
    """Add one side's part to the rows of a contact's Jacobian."""
    components = work.laws.blocks.shape[1]
    rows = work.jacobian[components * i : components * (i + 1)]
    axes = contact_axes(state.contacts, c, state.contacts.frame[c], components)
    tree = state.contacts.link_tree[state.contacts.link[c, side]]
    if has_weights(plant, state.contacts, c) and not plant.trees.spatial[tree]:
        _add_chain(state, rows, axes, c, side, arm)
        return
    sign = 1.0 if side == 1 else -1.0
    x, y, z = arm[c, 0], arm[c, 1], arm[c, 2]
    cdof = state.cdof
    dof = plant.bodies.last_dof[body_of_side(plant, state.contacts, c, side)]
    while dof >= 0:
        u = sign * (cdof[dof, 3] + cdof[dof, 1] * z - cdof[dof, 2] * y)
        v = sign * (cdof[dof, 4] + cdof[dof, 2] * x - cdof[dof, 0] * z)
        w = sign * (cdof[dof, 5] + cdof[dof, 0] * y - cdof[dof, 1] * x)
        for a in range(3):
            rows[a, dof] += axes[a, 0] * u + axes[a, 1] * v + axes[a, 2] * w
        for a in range(3, components):
            for k in range(3):
                rows[a, dof] += sign * axes[a, k] * cdof[dof, k]
        dof = plant.dofs.parent[dof]


@compiled
def _fill_jacobian(world: Table, work: Table, state: Table) -> None:
    """Fill the Jacobians of contacts and rows, by generalized velocities."""
    plant = world.plant
    problem = world.problem
    graph = problem.graph
    contacts = state.contacts
    rows = state.rows
    nv = graph.nv
    jacobian = work.jacobian
    count = contacts.count
    first = work.laws.blocks.shape[1] * count
    for k in range(first + rows.count):
        for j in range(nv):
            jacobian[k, j] = 0.0
    for i in range(count):
        c = graph.contact[i]
        if contacts.link[c, 0] >= 0:
            _add_side(plant, work, state, i, c, 0, contacts.arm_a)
        if contacts.link[c, 1] >= 0:
            _add_side(plant, work, state, i, c, 1, contacts.arm_b)
    row = work.mean
    for i in range(rows.count):
        r = graph.row[i]
        for j in range(nv):
            row[j] = 0.0
        for e in range(rows.start[r, 0], rows.start[r, 2]):
            row[rows.dof[e]] = rows.jacobian[e]
        # As a force of a row's unit impulse.
        force_from_solver(plant, state.cdof, row, work.generalized)
        for j in range(nv):
            jacobian[first + r, j] = work.generalized[j]


@compiled
def _add_product(
    rows: np.ndarray, block: np.ndarray, sign: float, index: np.ndarray, out: np.ndarray
) -> None:
    """``out += sign Jᵀ B J`` of a contact's rows; ``index`` is room for columns."""
    components = len(rows)
    left = np.empty(components)
    count = 0
    for j in range(index.size):
        for k in range(components):
            if rows[k, j] != 0.0:
                index[count] = j
                count += 1
                break
    for n in range(count):
        i = index[n]
        for k in range(components):
            left[k] = 0.0
            for m in range(components):
                left[k] += sign * rows[m, i] * block[m, k]
        for m in range(count):
            j = index[m]
            for k in range(components):
                out[i, j] += left[k] * rows[k, j]


@compiled
def _add_to_body(
    axes: np.ndarray, arm: np.ndarray, block: np.ndarray, sign: float, out: np.ndarray
) -> None:
    """``out += sign Qᵀ B Q`` of what a contact's unit impulses are as spatial forces, Q."""
    components = len(axes)
    forces = np.zeros((components, 6))
    left = np.empty(components)
    for k in range(components):
        x, y, z = axes[k, 0], axes[k, 1], axes[k, 2]
        if k >= 3:
            forces[k, 0], forces[k, 1], forces[k, 2] = x, y, z
            continue
        forces[k, 0] = arm[1] * z - arm[2] * y
        forces[k, 1] = arm[2] * x - arm[0] * z
        forces[k, 2] = arm[0] * y - arm[1] * x
        forces[k, 3], forces[k, 4], forces[k, 5] = x, y, z
    for a in range(6):
        for k in range(components):
            left[k] = 0.0
            for m in range(components):
                left[k] += sign * forces[m, a] * block[m, k]
        for b in range(6):
            for k in range(components):
                out[6 * a + b] += left[k] * forces[k, b]


@compiled
def add_products(
    world: Table, work: Table, state: Table, blocks: np.ndarray, sign: float, out: np.ndarray
) -> None:
    """``out += sign Σ Jᵀ B J`` of all contacts, shape (nv, nv).

    What contacts with the world do to a body is added up along its tree, as inertias are.
    """
    plant = world.plant
    dofs = plant.dofs
    contacts = state.contacts
    cdof = state.cdof
    behind = work.behind
    left = np.empty(6)
    right = np.empty(6)
    components = blocks.shape[1]
    for d in range(cdof.shape[0]):
        for k in range(36):
            behind[d, k] = 0.0
    for i in range(contacts.count):
        c = world.problem.graph.contact[i]
        first = plant.bodies.last_dof[body_of_side(plant, contacts, c, 0)]
        second = plant.bodies.last_dof[body_of_side(plant, contacts, c, 1)]
        if (first >= 0 and second >= 0) or has_weights(plant, contacts, c):
            rows = work.jacobian[components * i : components * (i + 1)]
            _add_product(rows, blocks[i], sign, work.index, out)
        elif first >= 0 or second >= 0:
            axes = contact_axes(contacts, c, contacts.frame[c], components)
            arm, dof = (contacts.arm_a[c], first) if first >= 0 else (contacts.arm_b[c], second)
            _add_to_body(axes, arm, blocks[i], sign, behind[dof])
    for d in range(cdof.shape[0] - 1, -1, -1):
        parent = dofs.parent[d]
        if parent >= 0:
            for k in range(36):
                behind[parent, k] += behind[d, k]
        for a in range(6):
            left[a] = 0.0
            right[a] = 0.0
            for b in range(6):
                left[a] += cdof[d, b] * behind[d, 6 * b + a]
                right[a] += behind[d, 6 * a + b] * cdof[d, b]
        for a in range(6):
            out[d, d] += left[a] * cdof[d, a]
        m = parent
        while m >= 0:
            for a in range(6):
                out[d, m] += left[a] * cdof[m, a]
                out[m, d] += cdof[m, a] * right[a]
            m = dofs.parent[m]


@compiled
def _add_row_curvatures(work: Table, contacts: int, rows: int) -> None:
    """Add Gᵀ (−∂λ/∂v) G of rows to the system."""
    system = work.system
    jacobian = work.jacobian
    first = work.laws.blocks.shape[1] * contacts
    for k in range(rows):
        row = first + k
        for i in range(system.shape[0]):
            x = work.row_laws.row_curvature[k] * jacobian[row, i]
            if x != 0.0:
                for j in range(system.shape[0]):
                    system[i, j] += x * jacobian[row, j]


@compiled
def _add_bound(
    graph: Table, law: Table, iterate: Table, contacts: Table, block: np.ndarray, i: int
) -> None:
    """Add what a bound of friction L = μ(‖u‖) n(v_n) adds to −∂γ_u/∂v, γ_u = −L u/η."""
    c = graph.contact[i]
    square = slip_square(graph, iterate, i, 0.0)
    slip = np.sqrt(square)
    inverse = 1.0 / np.sqrt(square + law.soft_slip_square[i])
    coefficient, slope = friction_slope(
        contacts.static_friction[c],
        contacts.dynamic_friction[c],
        slip,
        contacts.stiction_tolerance[c],
    )
    # ∂L/∂v; the direction of a slip of zero does not matter, as the slope is zero there or the
    # product with u is.
    by_slip = iterate.gn[i] * slope / slip if slip > 0.0 else 0.0
    for k in range(len(block)):
        if k == _NORMAL:
            continue
        share = inverse * _slip_of(iterate, i, k)
        for m in range(len(block)):
            if m == _NORMAL:
                block[k, m] -= share * coefficient * iterate.hnn[i]
            else:
                block[k, m] += share * by_slip * _slip_of(iterate, i, m)


@compiled
def _slip_of(iterate: Table, i: int, k: int) -> float:
    """A component of the scaled slip, k ≠ 2."""
    if k >= 3:
        return float(iterate.turn[i, k - 3])
    return float(iterate.v1[i] if k == 0 else iterate.v2[i])


@compiled
def _fill_ellipsoid(iterate: Table, i: int, block: np.ndarray) -> None:
    """Fill the curvatures of an ellipsoidal contact (`asperity.convex.ellipsoids`)."""
    across = iterate.slip_curvature[i, 0]
    more = iterate.slip_curvature[i, 1]
    normal = iterate.slip_curvature[i, 2]
    direction = iterate.slip_direction[i]
    for k in range(len(block)):
        if k == _NORMAL:
            continue
        u = direction[k if k < _NORMAL else k - 1]
        for m in range(len(block)):
            if m != _NORMAL:
                w = direction[m if m < _NORMAL else m - 1]
                block[k, m] = more * u * w + (across if k == m else 0.0)
        block[k, _NORMAL] = normal * u
        block[_NORMAL, k] = normal * u
    block[_NORMAL, _NORMAL] = iterate.hnn[i]


@compiled
def _fill_block(graph: Table, iterate: Table, i: int, block: np.ndarray) -> None:
    """Fill the curvatures of a contact, without those of components that it has not."""
    if graph.ellipsoids != 0 and graph.ellipsoidal[i] != 0:
        _fill_ellipsoid(iterate, i, block)
        return
    block[:] = 0.0
    block[0, 0] = iterate.h11[i]
    block[0, 1] = iterate.h12[i]
    block[1, 0] = iterate.h12[i]
    block[1, 1] = iterate.h22[i]
    block[0, 2] = iterate.h1n[i]
    block[1, 2] = iterate.h2n[i]
    block[2, 0] = iterate.h1n[i]
    block[2, 1] = iterate.h2n[i]
    block[2, 2] = iterate.hnn[i]


@compiled
def _fill_blocks(world: Table, work: Table, state: Table, step: float) -> None:
    """Fill −∂γ/∂v of every contact and the curvatures of rows, at the prescribed velocity."""
    root = work.root
    row_laws = work.row_laws
    problem = world.problem
    graph, iterate = problem.graph, problem.iterate
    contacts = state.contacts
    count = contacts.count
    evaluate_exactly(problem, 0, count)
    for i in range(count):
        block = work.laws.blocks[i]
        _fill_block(graph, iterate, i, block)
        if root.coupling == FRICTION_ALONE:
            for k in range(len(block)):
                if k != _NORMAL:
                    block[_NORMAL, k] = 0.0
        elif root.coupling == DELIVERED_BOUND:
            _add_bound(graph, problem.law, iterate, contacts, block, i)
    for i in range(state.rows.count):
        r = graph.row[i]
        curvature = iterate.row_curvature[i]
        impulse = iterate.row_impulse[i]
        row_laws.row_curvature[r] = curvature
        row_laws.row_impulse[r] = impulse
        row_laws.row_piece[r] = row_piece(world, state.rows, i, impulse, curvature, step, 0.0)


@compiled
def fill_hessian(world: Table, work: Table, state: Table, step: float) -> None:
    """Fill H at the prescribed velocity, for which g has been evaluated."""
    _fill_blocks(world, work, state, step)
    _fill_inertia(world, work, state)
    _fill_jacobian(world, work, state)
    add_products(world, work, state, work.laws.blocks, 1.0, work.system)
    _add_row_curvatures(work, state.contacts.count, state.rows.count)
    add_middle_columns(world, work, state, step)
