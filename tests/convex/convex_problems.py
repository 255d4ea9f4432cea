"""Convex problems for tests: made by hand from random trees, and their dense counterparts.

A `Case` holds the three tables and calls the compiled solver. Its ``dense_*`` methods build
matrices with plain NumPy from the tables' geometry, without any of the compiled assembly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from asperity.compiled import EntryPoint, Table
from asperity.contact.constraint_laws import DRIFT_SPEED
from asperity.contact.constraint_set import (
    ACTUATOR,
    CONSTRAINT_SET,
    EQUALITY,
    FRICTION,
    LIMIT,
)
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.block_cholesky import factorize, solve_factors
from asperity.convex.contact_velocities import (
    add_impulses,
    contact_velocities,
    link_velocities,
    row_velocities,
)
from asperity.convex.convex_newton import install_solver, solve_problem
from asperity.convex.divided_island import ADD_PAIRS, share_phase, tree_blocks
from asperity.convex.graph import COUPLING_TOO_SMALL, build_graph
from asperity.convex.hessian_assembly import assemble
from asperity.convex.island import choose_island
from asperity.convex.potentials.contact_driver import (
    evaluate_contacts,
    prepare_contacts,
    update_estimates,
)
from asperity.convex.potentials.lagged import LAGGED_LAW
from asperity.convex.potentials.law_table import has_law, install_law
from asperity.convex.potentials.rows import evaluate_rows, prepare_rows
from asperity.convex.problem import PAIRS, new_problem


def call(entry: EntryPoint, *arguments: Table | int) -> int:
    """Call a compiled C function whose arguments are tables and integers."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *([ctypes.c_int64] * len(arguments)))
    numbers = [one.address if isinstance(one, Table) else one for one in arguments]
    return int(kind(entry.address)(*numbers))


def curvature(problem: Table, i: int) -> np.ndarray:
    """The 3 × 3 Hessian of one contact."""
    p = problem
    a, b = p.iterate.h1n[i], p.iterate.h2n[i]
    return np.array(
        [
            [p.iterate.h11[i], p.iterate.h12[i], a],
            [p.iterate.h12[i], p.iterate.h22[i], b],
            [a, b, p.iterate.hnn[i]],
        ]
    )


@dataclass
class Case:
    """A convex problem with its contact and constraint sets."""

    problem: Table
    contacts: Table
    rows: Table

    @property
    def tables(self) -> tuple[Table, Table, Table]:
        """The three tables."""
        return self.problem, self.contacts, self.rows

    @property
    def ncontact(self) -> int:
        """Number of contacts."""
        return self.contacts.count

    @property
    def nrow(self) -> int:
        """Number of rows."""
        return self.rows.count

    # -- compiled -----------------------------------------------------------------------------

    def build(self) -> int:
        """Find islands and structure, with as much memory as that takes."""
        status = call(build_graph, *self.tables)
        if status == COUPLING_TOO_SMALL:
            self.problem.resize(coupling_room=self.problem.graph.coupling_size)
            status = call(build_graph, *self.tables)
        assert status != COUPLING_TOO_SMALL
        return status

    @property
    def solution(self) -> np.ndarray:
        """The velocities that the solver reads and writes, shape (nv,)."""
        return self.problem.iterate.velocity[: self.problem.graph.nv]

    def padded(self, vector: np.ndarray) -> np.ndarray:
        """A vector with the places for links that the kernels use behind its end."""
        out = np.zeros(len(self.problem.iterate.velocity))
        out[: self.problem.graph.nv] = vector[: self.problem.graph.nv]
        return out

    def add_impulses(self, vector: np.ndarray, sign: float, contacts: int, rows: int) -> None:
        """``vector += sign · Jᵀ γ`` for the first so many contacts and rows."""
        work = self.padded(vector)
        p = self.problem
        add_impulses(
            p.graph, p.iterate, self.contacts, self.rows, (0, contacts), (0, rows), work, sign
        )
        vector[:] = work[: len(vector)]

    def set_velocity(self, velocity: np.ndarray) -> None:
        """Fill the velocities of contacts and rows."""
        p = self.problem
        velocity = self.padded(velocity)
        link_velocities(p.graph, p.iterate, self.contacts, velocity)
        contact_velocities(p.graph, p.iterate, self.contacts, 0, self.ncontact, velocity)
        row_velocities(p.graph, self.rows, 0, self.nrow, velocity, p.iterate.row_u)

    def prepare(self, velocity: np.ndarray, step: float) -> None:
        """Fill the potentials' numbers for a step from a velocity."""
        self.build()
        self.set_velocity(velocity)
        prepare_contacts(self.problem, self.contacts, step, self.ncontact)
        prepare_rows(self.problem, self.rows, step, step, step, DRIFT_SPEED, self.nrow, False)

    def evaluate(self, velocity: np.ndarray) -> float:
        """Fill impulses and curvatures; return the whole cost."""
        self.set_velocity(velocity)
        velocity = velocity[: self.problem.graph.nv]
        if has_law(self.problem, LAGGED_LAW):
            # So that the curvatures are the Hessian's.
            self.problem.iterate.dv1[:] = self.problem.iterate.dv2[:] = 0.0
            update_estimates(self.problem, 0, self.ncontact, 0.0)
            self.problem.law.dual_n[:] = np.maximum(
                self.problem.law.cutoff - self.problem.iterate.vn, 0.0
            )
        cost = evaluate_contacts(self.problem, 0, self.ncontact)
        cost += evaluate_rows(self.problem.law, self.problem.iterate, 0, self.nrow)
        matrix = self.dense_matrix()
        return float(cost + 0.5 * velocity @ matrix @ velocity - self.problem.smooth.rhs @ velocity)

    def solve(self, guess: np.ndarray, have_factors: int = 0) -> int:
        """Run Newton's method from a guess."""
        self.problem.iterate.velocity[: self.problem.graph.nv] = guess[: self.problem.graph.nv]
        return call(solve_problem, *self.tables, have_factors)

    def islands(self) -> Iterator[int]:
        """Point the problem at one island after the other."""
        p = self.problem
        for k in range(p.graph.islands):
            choose_island(p.graph, p.at_hand, p.newton, k)
            yield k

    def assemble(self) -> np.ndarray:
        """Assemble all islands and return the Hessian as a dense matrix, read from its blocks."""
        p = self.problem
        for _ in self.islands():
            if call(assemble, *self.tables) == PAIRS:
                share_phase(p, ADD_PAIRS, tree_blocks(p.at_hand))
        out = np.zeros((p.graph.nv, p.graph.nv))
        for tree in range(p.graph.ntree):
            rows = self.dofs(tree)
            n = p.graph.tree_size[tree]
            block = p.hessian.factor[
                p.graph.block_start[tree] : p.graph.block_start[tree] + n * n
            ].reshape(n, n)
            # Only lower triangles are filled.
            out[rows, rows] = np.tril(block) + np.tril(block, -1).T
            start = p.graph.column_start[tree]
            for entry in range(start, start + p.graph.column_size[tree]):
                other = p.graph.entry_tree[entry]
                m = p.graph.tree_size[other]
                at = p.graph.entry_block[entry]
                cross = p.hessian.coupling[at : at + n * m].reshape(n, m)
                out[rows, self.dofs(other)] = cross
                out[self.dofs(other), rows] = cross.T
        return out

    def factorize_and_solve(self, b: np.ndarray) -> np.ndarray:
        """Solve with the assembled Hessian."""
        p = self.problem
        p.iterate.direction[: p.graph.nv] = b
        for _ in self.islands():
            assert call(factorize, p, 0) == 1
            call(solve_factors, p, 0)
        return p.iterate.direction[: p.graph.nv].copy()

    # -- dense --------------------------------------------------------------------------------

    def dofs(self, tree: int) -> slice:
        """Degrees of freedom of a tree."""
        start = int(self.problem.graph.tree_start[tree])
        return slice(start, start + int(self.problem.graph.tree_size[tree]))

    def dense_matrix(self) -> np.ndarray:
        """A."""
        p = self.problem
        out = np.zeros((p.graph.nv, p.graph.nv))
        for tree in range(p.graph.ntree):
            n = p.graph.tree_size[tree]
            block = p.smooth.matrix[p.graph.block_start[tree] : p.graph.block_start[tree] + n * n]
            out[self.dofs(tree), self.dofs(tree)] = block.reshape(n, n)
        return out

    def dense_contact_jacobian(self) -> np.ndarray:
        """J of the contacts in the order of the contact set, shape (n, 3, nv)."""
        c = self.contacts
        out = np.zeros((self.ncontact, 3, self.problem.graph.nv))
        for i in range(self.ncontact):
            frame = c.frame[i].reshape(3, 3)
            for side, sign, arm in ((0, -1.0, c.arm_a), (1, 1.0, c.arm_b)):
                link = c.link[i, side]
                if link >= 0:
                    jacobian = np.hstack([np.cross(arm[i], frame), frame])
                    out[i] += sign * jacobian @ self.link_columns(link)
        return out

    def link_columns(self, link: int) -> np.ndarray:
        """Spatial velocity of a link per solver velocity, shape (6, nv)."""
        c = self.contacts
        columns = np.zeros((6, self.problem.graph.nv))
        tree = c.link_tree[link]
        if self.problem.graph.tree_spatial[tree]:
            columns[:, self.dofs(tree)] = np.eye(6)
            return columns
        for e in range(c.link_start[link], c.link_start[link] + c.link_size[link]):
            columns[:, c.chain_dof[e]] += c.chain_column[e]
        return columns

    def dense_row_jacobian(self) -> np.ndarray:
        """J of the rows in the order of the constraint set, shape (n, nv)."""
        r = self.rows
        out = np.zeros((self.nrow, self.problem.graph.nv))
        for i in range(self.nrow):
            entries = slice(r.start[i, 0], r.start[i, 2])
            np.add.at(out[i], r.dof[entries], r.jacobian[entries])
        return out

    def dense_gradient(self, velocity: np.ndarray) -> np.ndarray:
        """A v − r − Jᵀ γ with the present impulses."""
        p = self.problem
        out = self.dense_matrix() @ velocity - p.smooth.rhs
        contact_jacobian = self.dense_contact_jacobian()
        for i, c in enumerate(p.graph.contact[: self.ncontact]):
            out -= contact_jacobian[c].T @ [p.iterate.g1[i], p.iterate.g2[i], p.iterate.gn[i]]
        row_jacobian = self.dense_row_jacobian()
        for i, r in enumerate(p.graph.row[: self.nrow]):
            out -= row_jacobian[r] * p.iterate.row_impulse[i]
        return out

    def dense_hessian(self) -> np.ndarray:
        """A + Jᵀ G J with the present curvatures."""
        p = self.problem
        out = self.dense_matrix()
        contact_jacobian = self.dense_contact_jacobian()
        for i, c in enumerate(p.graph.contact[: self.ncontact]):
            out += contact_jacobian[c].T @ curvature(p, i) @ contact_jacobian[c]
        row_jacobian = self.dense_row_jacobian()
        for i, r in enumerate(p.graph.row[: self.nrow]):
            out += p.iterate.row_curvature[i] * np.outer(row_jacobian[r], row_jacobian[r])
        return out


def empty_case(
    sizes: Sequence[int],
    spatial: Sequence[bool],
    *,
    contacts: int,
    links: int,
    chain: int,
    rows: int,
    entries: int,
    max_iterations: int = 100,
    dof_parent: np.ndarray | None = None,
) -> Case:
    """Tables of a problem without contacts and rows."""
    size = np.array(sizes, np.int64)
    problem = new_problem(
        tree_start=np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64),
        tree_size=size,
        tree_spatial=np.array(spatial, np.int64),
        contacts=contacts,
        links=links,
        rows=rows,
        max_iterations=max_iterations,
        dof_parent=dof_parent,
    )
    install_solver(problem)
    install_law(problem, LAGGED_LAW)
    return Case(
        problem,
        Table(CONTACT_SET, contacts=contacts, links=links, chain=max(chain, 1)),
        Table(CONSTRAINT_SET, rows=rows, entries=entries),
    )


@dataclass(frozen=True)
class Scene:
    """What joins the trees of a random problem.

    Parameters
    ----------
    sizes, spatial : sequences
        Size of every tree, and whether it is one free body.
    touching : sequence of pairs
        Trees in contact, two contacts per pair; −1 is the world, a pair of equal trees is contact
        between two links of one tree.
    rowed : sequence of pairs
        Trees joined by a row; −1 as the second one for rows of a single tree.
    """

    sizes: Sequence[int]
    spatial: Sequence[bool]
    touching: Sequence[tuple[int, int]] = ()
    rowed: Sequence[tuple[int, int]] = ()
    contacts_per_pair: int = 2
    mass_spread: float = 1.0  # decades
    parameters: dict[str, float] = field(default_factory=dict)


def _spd(rng: np.random.Generator, n: int, spread: float) -> np.ndarray:
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return basis @ np.diag(10.0 ** rng.uniform(-0.5 * spread, 0.5 * spread, n)) @ basis.T


def random_case(rng: np.random.Generator, scene: Scene, *, max_iterations: int = 100) -> Case:
    """A random problem with the graph of a scene."""
    trees = len(scene.sizes)
    per_pair = scene.contacts_per_pair
    case = empty_case(
        scene.sizes,
        scene.spatial,
        contacts=max(1, per_pair * len(scene.touching)),
        links=2 * trees,
        chain=2 * sum(scene.sizes),
        rows=max(1, len(scene.rowed)),
        entries=2 * max(1, len(scene.rowed)) * max(scene.sizes),
        max_iterations=max_iterations,
    )
    p, c = case.problem, case.contacts
    for tree in range(trees):
        n = scene.sizes[tree]
        block = _spd(rng, n, scene.mass_spread)
        p.smooth.matrix[p.graph.block_start[tree] : p.graph.block_start[tree] + n * n] = (
            block.ravel()
        )
        p.smooth.mass_diagonal[case.dofs(tree)] = np.diag(block)
        p.smooth.mass_inverse_diagonal[case.dofs(tree)] = 1.0 / np.diag(block)
    p.smooth.rhs[:] = case.dense_matrix() @ rng.standard_normal(p.graph.nv)
    chain = 0
    # Two links per tree: 2t at the end of the chain, 2t + 1 one joint nearer to the root.
    for link in range(2 * trees):
        tree = link // 2
        c.link_tree[link] = tree
        c.link_start[link] = chain
        if scene.spatial[tree]:
            continue
        n = max(1, scene.sizes[tree] - link % 2)
        first = case.dofs(tree).start
        c.link_size[link] = n
        c.chain_dof[chain : chain + n] = first + np.arange(n)[::-1]
        c.chain_column[chain : chain + n] = rng.standard_normal((n, 6))
        chain += n
    # Siblings share the joints near the root.
    for link in range(1, 2 * trees, 2):
        n = c.link_size[link]
        tip = c.link_start[link - 1] + c.link_size[link - 1]
        c.chain_column[c.link_start[link] : c.link_start[link] + n] = c.chain_column[tip - n : tip]
    c.count, c.link_count = per_pair * len(scene.touching), 2 * trees
    i = 0
    for a, b in scene.touching:
        for _ in range(per_pair):
            _random_contact(rng, scene, c, i, a, b)
            i += 1
    _random_rows(rng, case, scene.rowed)
    return case


def _random_contact(
    rng: np.random.Generator, scene: Scene, c: Table, i: int, a: int, b: int
) -> None:
    link_a = -1 if a < 0 else 2 * a
    link_b = -1 if b < 0 else 2 * b + (1 if a == b else int(rng.integers(2)))
    if b >= 0 and scene.spatial[b]:
        link_b = 2 * b
    c.link[i] = link_a, link_b
    frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    c.frame[i] = frame.ravel()
    point = 0.3 * rng.standard_normal(3)
    for tree, arm in ((a, c.arm_a), (b, c.arm_b)):
        # Where the tree's centre of mass is: the same for all its contacts.
        arm[i] = point - 0.2 * np.array([np.cos(tree), np.sin(tree), 0.3 * tree])
    c.signed_distance[i] = rng.uniform(-3e-3, 1e-3)
    c.stiffness[i] = 10.0 ** rng.uniform(3, 5)
    c.dissipation[i] = rng.uniform(0.0, 1.0)
    c.static_friction[i] = rng.uniform(0.3, 1.0)
    c.dynamic_friction[i] = c.static_friction[i] * rng.uniform(0.5, 1.0)
    c.stiction_tolerance[i] = 10.0 ** rng.uniform(-3, -2)
    c.inverse_mass[i] = rng.uniform(0.5, 2.0)
    c.surface_velocity[i] = rng.choice([0.0, 0.1]) * rng.standard_normal(2)
    for name, value in scene.parameters.items():
        getattr(c, name)[i] = value


def _random_rows(rng: np.random.Generator, case: Case, rowed: Sequence[tuple[int, int]]) -> None:
    r = case.rows
    entry = 0
    for i, (a, b) in enumerate(rowed):
        r.tree[i] = a, b
        r.start[i] = entry
        for part, tree in enumerate((a, b)):
            if tree >= 0:
                dofs = np.arange(case.problem.graph.nv)[case.dofs(tree)]
                keep = np.sort(rng.choice(dofs, size=rng.integers(1, len(dofs) + 1), replace=False))
                r.dof[entry : entry + len(keep)] = keep
                r.jacobian[entry : entry + len(keep)] = rng.standard_normal(len(keep))
                entry += len(keep)
            r.start[i, part + 1 :] = entry
        kind = (EQUALITY, LIMIT, FRICTION, ACTUATOR)[i % 4]
        r.kind[i] = kind
        r.inverse_mass[i] = rng.uniform(0.5, 2.0)
        r.position[i] = 1e-3 * rng.standard_normal()
        if kind == FRICTION:
            r.lower[i], r.upper[i] = 1e-2, rng.uniform(1.0, 50.0)
        elif kind == LIMIT:
            r.upper[i] = 1e-3 * rng.standard_normal()
            # Half of them have a limit of velocity, too.
            r.lower[i] = np.inf if i % 8 == 1 else 0.05
        elif kind == ACTUATOR:
            r.force[i] = 20.0 * rng.standard_normal()
            r.proportional[i], r.derivative[i] = rng.uniform(0.0, 500.0), rng.uniform(0.1, 50.0)
            r.upper[i] = rng.uniform(5.0, 50.0)
            r.lower[i] = -rng.uniform(5.0, 50.0)
    r.count, r.entry_count = len(rowed), entry


MIXED = Scene(
    sizes=(6, 6, 3, 9, 1, 6, 6),
    spatial=(True, True, False, False, False, False, True),
    touching=((-1, 0), (0, 1), (1, 2), (2, 3), (3, 3), (5, 1), (3, -1), (5, 5), (4, 3)),
    rowed=((0, 2), (2, -1), (3, 4), (3, -1), (6, -1), (4, -1), (5, 3), (1, 3)),
)
"""Free bodies, arms and a floating tree (six dofs, but not one free body), in all kinds
of contact, and one body without contact."""
