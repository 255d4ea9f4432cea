"""The derivative H = ∂g/∂v of a step's momentum balance by its velocity.

H = A − ∂(Jᵀγ)/∂v − ∂(Gᵀλ)/∂v, and where gyroscopic forces are those of the middle of the step
their derivative by v. It is not symmetric where friction depends on the normal velocity.
"""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table, compiled
from asperity.contact.laws import friction_slope
from asperity.convex.potentials.contact_driver import evaluate_exactly
from asperity.derivatives.balance.middle_velocity import add_middle_columns
from asperity.derivatives.balance.row_changes import row_piece
from asperity.derivatives.balance.sides import body_of_side, has_weights
from asperity.derivatives.layout import DELIVERED_BOUND, FRICTION_ALONE
from asperity.plant.trees import force_from_solver

__all__ = ["add_products", "fill_hessian"]


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
    state: Table, jacobian: np.ndarray, i: int, c: int, side: int, arm: np.ndarray
) -> None:
    """Add one side's part to the rows of a contact whose sides are points between vertices."""
    contacts = state.contacts
    frame = contacts.frame
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
                jacobian[3 * i + a, dof] += sign * frame[c, 3 * a + k] * speed


@compiled
def _add_side(
    plant: Table, work: Table, state: Table, i: int, c: int, side: int, arm: np.ndarray
) -> None:
    """Add one side's part to the three rows of a contact's Jacobian."""
    frame = state.contacts.frame
    jacobian = work.jacobian
    tree = state.contacts.link_tree[state.contacts.link[c, side]]
    if has_weights(plant, state.contacts, c) and not plant.trees.spatial[tree]:
        _add_chain(state, jacobian, i, c, side, arm)
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
            jacobian[3 * i + a, dof] += (
                frame[c, 3 * a] * u + frame[c, 3 * a + 1] * v + frame[c, 3 * a + 2] * w
            )
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
    for k in range(3 * count + rows.count):
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
            jacobian[3 * count + r, j] = work.generalized[j]


@compiled
def _add_product(
    jacobian: np.ndarray,
    row: int,
    block: np.ndarray,
    sign: float,
    index: np.ndarray,
    out: np.ndarray,
) -> None:
    """``out += sign Jᵀ B J`` of three rows of the Jacobian; ``index`` is room for columns."""
    count = 0
    for j in range(index.size):
        if jacobian[row, j] != 0.0 or jacobian[row + 1, j] != 0.0 or jacobian[row + 2, j] != 0.0:
            index[count] = j
            count += 1
    for k in range(count):
        i = index[k]
        x = sign * jacobian[row, i]
        y = sign * jacobian[row + 1, i]
        z = sign * jacobian[row + 2, i]
        p = x * block[0, 0] + y * block[1, 0] + z * block[2, 0]
        q = x * block[0, 1] + y * block[1, 1] + z * block[2, 1]
        r = x * block[0, 2] + y * block[1, 2] + z * block[2, 2]
        for m in range(count):
            j = index[m]
            out[i, j] += p * jacobian[row, j] + q * jacobian[row + 1, j] + r * jacobian[row + 2, j]


@compiled
def _add_to_body(
    frame: np.ndarray, arm: np.ndarray, block: np.ndarray, sign: float, out: np.ndarray
) -> None:
    """``out += sign Qᵀ B Q`` of the axes (arm × t, t) of a contact, as spatial forces."""
    axes = np.empty((3, 6))
    for k in range(3):
        x, y, z = frame[3 * k], frame[3 * k + 1], frame[3 * k + 2]
        axes[k, 0] = arm[1] * z - arm[2] * y
        axes[k, 1] = arm[2] * x - arm[0] * z
        axes[k, 2] = arm[0] * y - arm[1] * x
        axes[k, 3] = x
        axes[k, 4] = y
        axes[k, 5] = z
    for a in range(6):
        x = sign * axes[0, a]
        y = sign * axes[1, a]
        z = sign * axes[2, a]
        p = x * block[0, 0] + y * block[1, 0] + z * block[2, 0]
        q = x * block[0, 1] + y * block[1, 1] + z * block[2, 1]
        r = x * block[0, 2] + y * block[1, 2] + z * block[2, 2]
        for b in range(6):
            out[6 * a + b] += p * axes[0, b] + q * axes[1, b] + r * axes[2, b]


@compiled
def add_products(
    world: Table, work: Table, state: Table, blocks: np.ndarray, sign: float, out: np.ndarray
) -> None:
    """``out += sign Σ Jᵀ B J`` of all contacts, shape (nv, nv), with blocks (contacts, 3, 3).

    What contacts with the world do to a body is added up along its tree, as inertias are.
    """
    plant = world.plant
    dofs = plant.dofs
    contacts = state.contacts
    cdof = state.cdof
    behind = work.behind
    left = np.empty(6)
    right = np.empty(6)
    for d in range(cdof.shape[0]):
        for k in range(36):
            behind[d, k] = 0.0
    for i in range(contacts.count):
        c = world.problem.graph.contact[i]
        first = plant.bodies.last_dof[body_of_side(plant, contacts, c, 0)]
        second = plant.bodies.last_dof[body_of_side(plant, contacts, c, 1)]
        if (first >= 0 and second >= 0) or has_weights(plant, contacts, c):
            _add_product(work.jacobian, 3 * i, blocks[i], sign, work.index, out)
        elif first >= 0:
            _add_to_body(contacts.frame[c], contacts.arm_a[c], blocks[i], sign, behind[first])
        elif second >= 0:
            _add_to_body(contacts.frame[c], contacts.arm_b[c], blocks[i], sign, behind[second])
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
    for k in range(rows):
        row = 3 * contacts + k
        for i in range(system.shape[0]):
            x = work.row_laws.row_curvature[k] * jacobian[row, i]
            if x != 0.0:
                for j in range(system.shape[0]):
                    system[i, j] += x * jacobian[row, j]


@compiled
def _add_bound(
    graph: Table, law: Table, iterate: Table, contacts: Table, laws: Table, i: int
) -> None:
    """Add what a bound of friction L = μ(‖v_t‖) n(v_n) adds to −∂γ_t/∂v, γ_t = −L v_t/η."""
    c = graph.contact[i]
    x = iterate.v1[i]
    y = iterate.v2[i]
    square = law.soft_slip_square[i]
    inverse = 1.0 / np.sqrt(x * x + y * y + square)
    slip = np.sqrt(x * x + y * y)
    coefficient, slope = friction_slope(
        contacts.static_friction[c],
        contacts.dynamic_friction[c],
        slip,
        contacts.stiction_tolerance[c],
    )
    # ∂L/∂v; the direction of a slip of zero does not matter, as the slope is zero there or the
    # product with v_t is.
    by_slip = iterate.gn[i] * slope / slip if slip > 0.0 else 0.0
    d1 = by_slip * x
    d2 = by_slip * y
    dn = -coefficient * iterate.hnn[i]
    laws.blocks[i, 0, 0] += inverse * x * d1
    laws.blocks[i, 0, 1] += inverse * x * d2
    laws.blocks[i, 0, 2] += inverse * x * dn
    laws.blocks[i, 1, 0] += inverse * y * d1
    laws.blocks[i, 1, 1] += inverse * y * d2
    laws.blocks[i, 1, 2] += inverse * y * dn


@compiled
def _fill_blocks(world: Table, work: Table, state: Table, step: float) -> None:
    """Fill −∂γ/∂v of every contact and the curvatures of rows, at the prescribed velocity."""
    laws = work.laws
    root = work.root
    row_laws = work.row_laws
    problem = world.problem
    graph, iterate, law = problem.graph, problem.iterate, problem.law
    contacts = state.contacts
    count = contacts.count
    evaluate_exactly(problem, 0, count)
    for i in range(count):
        laws.blocks[i, 0, 0] = iterate.h11[i]
        laws.blocks[i, 0, 1] = iterate.h12[i]
        laws.blocks[i, 1, 0] = iterate.h12[i]
        laws.blocks[i, 1, 1] = iterate.h22[i]
        laws.blocks[i, 0, 2] = iterate.h1n[i]
        laws.blocks[i, 1, 2] = iterate.h2n[i]
        laws.blocks[i, 2, 0] = 0.0 if root.coupling == FRICTION_ALONE else iterate.h1n[i]
        laws.blocks[i, 2, 1] = 0.0 if root.coupling == FRICTION_ALONE else iterate.h2n[i]
        laws.blocks[i, 2, 2] = iterate.hnn[i]
        if root.coupling == DELIVERED_BOUND:
            _add_bound(graph, law, iterate, contacts, laws, i)
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
