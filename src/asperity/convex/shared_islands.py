"""Islands solved by several threads.

Every island is solved by the same machine code from the same numbers, so the solution has the same
bits for any number of threads. All threads work together on each divided island, one after the
other (`asperity.convex.divided_island`). One thread solves each of the other islands. Every thread
has a problem of its own. It shares the tables of the given problem, except those that belong to the
island at hand (`OF_ONE_THREAD`). Counts are added up at the end.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import HoldsAddresses, Layout, Table, compiled, entry_point
from asperity.compiled.calls import call_pppn_status
from asperity.compiled.team import TEAM, Team
from asperity.contact.constraint_set import CONSTRAINT_SET
from asperity.contact.contact_set import CONTACT_SET
from asperity.convex.convex_newton import begin_solve, end_solve
from asperity.convex.problem import OF_ONE_THREAD, PROBLEM

__all__ = ["SharedIslands", "solve_shared"]

SHARED_ISLANDS = Layout(
    "islands of several threads",
    team=TEAM,
    solve="i8",  # the solver, compiled entry points
    solve_part="i8",
    members="i8[:]",  # addresses of the problems of all threads
    contacts="i8",  # addresses of the sets that are solved for
    rows="i8",
    first="i8[room]",  # islands [first, last) of each part
    last="i8[room]",
)

# Parts per thread: islands differ in the iterations that they need, which nobody knows beforehand.
_PARTS = 8
# Sizes (see `_size`) of a part that is worth a thread's while, and of what is worth waking others.
_SMALLEST_PART = 60
_SMALLEST_JOB = 400


@compiled
def _is_marked(graph: Table, guess: Table, k: int) -> bool:
    for index in range(graph.island_start[k], graph.island_start[k + 1]):
        if guess.tree_marked[graph.island_tree[index]] == 1:
            return True
    return False


@compiled
def _size(graph: Table, guess: Table, k: int) -> int:
    """About how long an island takes."""
    if guess.only_marked == 1 and not _is_marked(graph, guess, k):
        return 0
    contacts = graph.island_contact_start[k + 1] - graph.island_contact_start[k]
    rows = graph.island_row_start[k + 1] - graph.island_row_start[k]
    size = 1 + 4 * contacts + rows
    if contacts + rows > 0:
        for index in range(graph.island_start[k], graph.island_start[k + 1]):
            size += graph.tree_size[graph.island_tree[index]]
    return size


@compiled
def _is_apart(divided: Table, k: int, apart: int) -> bool:
    """Whether an island is not one of those that threads do each by itself."""
    return k == apart or divided.island_part_start[k + 1] > divided.island_part_start[k]


@compiled
def _divide(graph: Table, guess: Table, shared: Table, apart: int) -> int:
    """Make parts of the islands, but for divided ones and ``apart``; returns how many there are.

    Large ones are last: parts are begun from there.
    """
    divided = graph.divided
    total = 0
    for k in range(graph.islands):
        if not _is_apart(divided, k, apart):
            total += _size(graph, guess, k)
    largest = max(total // (_PARTS * shared.team.threads), _SMALLEST_PART)
    count = 0
    begin = 0
    sum_ = 0
    for k in range(graph.islands + 1):
        size = 0
        alone = k == graph.islands or _is_apart(divided, k, apart)
        if not alone:
            size = _size(graph, guess, k)
            alone = size > largest
        if (alone or sum_ + size > largest) and begin < k:
            if sum_ > 0:
                shared.first[count] = begin
                shared.last[count] = k
                count += 1
            begin = k
            sum_ = 0
        sum_ += size
        if alone:
            begin = k + 1
            sum_ = 0
    for k in range(graph.islands):
        if not _is_apart(divided, k, apart) and _size(graph, guess, k) > largest:
            shared.first[count] = k
            shared.last[count] = k + 1
            count += 1
    return count


@compiled
def _begin_members(shared: Table) -> None:
    """Clear what the other threads count."""
    for member in range(1, shared.members.size):
        other = PROBLEM.at(shared.members[member])
        other.scratch.base_tree = 0
        other.counts.iterations = 0
        other.counts.factorizations = 0
        other.counts.reuses = 0
        other.counts.line_search_evaluations = 0
        other.counts.unsettled = 0
        other.counts.worst_residual = 0.0
        other.at_hand.part_longest = 0


@compiled
def _end_members(at_hand: Table, counts: Table, shared: Table) -> None:
    """Add what the other threads have counted."""
    for member in range(1, shared.members.size):
        other = PROBLEM.at(shared.members[member])
        counts.iterations += other.counts.iterations
        counts.factorizations += other.counts.factorizations
        counts.reuses += other.counts.reuses
        counts.line_search_evaluations += other.counts.line_search_evaluations
        counts.unsettled += other.counts.unsettled
        counts.worst_residual = max(counts.worst_residual, other.counts.worst_residual)
        at_hand.part_longest = max(at_hand.part_longest, other.at_hand.part_longest)


@entry_point(types.int64(SHARED_ISLANDS.type, types.int64, types.int64, types.int64))
def solve_part(shared: Table, part: int, member: int, _unused: int) -> int:
    """Solve the islands of a part."""
    problem = PROBLEM.at(shared.members[member])
    problem.at_hand.first_island = shared.first[part]
    problem.at_hand.last_island = shared.last[part]
    return call_pppn_status(shared.solve, problem, shared.contacts, shared.rows, 1)


@entry_point(types.int64(PROBLEM.type, CONTACT_SET.type, CONSTRAINT_SET.type, types.int64))
def solve_shared(problem: Table, contacts: Table, rows: Table, have_factors: int) -> int:
    """Solve every island, as `asperity.convex.convex_newton.solve_problem` does."""
    guess, division, at_hand = problem.guess, problem.division, problem.at_hand
    counts, graph = problem.counts, problem.graph
    shared = SHARED_ISLANDS.at(division.shared)
    total = 0
    for k in range(graph.islands):
        total += _size(graph, guess, k)
    if total < _SMALLEST_JOB:
        return call_pppn_status(shared.solve, problem, contacts, rows, have_factors)
    begin_solve(problem, have_factors)
    # What one solve of a large tree leaves for the next one is in the first member's problem.
    apart = -1
    if graph.large_tree >= 0:
        k = graph.component[graph.ntree + graph.large_tree]
        apart = -1 if _is_apart(graph.divided, k, -1) else k
    shared.contacts = contacts.address
    shared.rows = rows.address
    at_hand.part_longest = 0
    _begin_members(shared)
    parts = _divide(graph, guess, shared, apart)
    team = shared.team
    if apart >= 0:
        team.own = parts
        shared.first[parts] = apart
        shared.last[parts] = apart + 1
    worst = call_pppn_status(team.share, team, shared.solve_part, shared, parts)
    # Not at any other time: what members have is that of this solve.
    division.team = team.address
    for k in range(graph.islands):
        if _is_apart(graph.divided, k, -1):
            at_hand.first_island = k
            at_hand.last_island = k + 1
            code = call_pppn_status(shared.solve, problem, contacts, rows, 1)
            worst = max(worst, code)
    division.team = 0
    at_hand.last_island = 0
    _end_members(at_hand, counts, shared)
    counts.solves += 1
    counts.longest_iterations += at_hand.part_longest
    end_solve(guess)
    return worst


class SharedIslands(HoldsAddresses):
    """The memory in which a team solves the islands of a problem.

    Parameters
    ----------
    problem : Table
    team : Team
    solve : int
        Address of the solver, `asperity.convex.convex_newton.solve_problem`.
    """

    def __init__(self, problem: Table, team: Team, solve: int) -> None:
        self._members = [problem]
        for _ in range(1, team.threads):
            member = problem.twin()
            for name in OF_ONE_THREAD:
                table = getattr(problem, name)
                setattr(member, name, Table(table.layout, **table.sizes))
            self._members.append(member)
        self.table = Table(
            SHARED_ISLANDS,
            team=team.table,
            solve=solve,
            solve_part=solve_part.address,
            members=np.array([member.address for member in self._members], np.int64),
            room=problem.graph.ntree + 1,
        )
        problem.division.shared = self.table.address
        problem.division.members = self.table.members
