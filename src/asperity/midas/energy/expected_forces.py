"""What contacts and limits are expected to bear at the end of a minimization.

The curvature of a barrier is that of the secant from the present distance to the one at which it
has the force that the last direction has counted with; see
`asperity.midas.energy.potentials.barrier_secant`. Here are contacts of links; limits are in
`asperity.midas.energy.joint_terms`, and contacts of deformable bodies in
`asperity.midas.soft.contacts`.
"""

from __future__ import annotations

import math

from asperity.compiled import Table, compiled, entry_point
from asperity.midas.energy.joint_terms import expect_present_limits, expects_present_limits
from asperity.midas.energy.potentials import differs, expected_ratio
from asperity.midas.lists.candidate_runs import AT_TRIAL
from asperity.midas.parts import PART, RUNS, count_parts, do_parts
from asperity.midas.soft.calls import EXPECT_PRESENT, FOLLOW, ask_soft

__all__ = ["EXPECTED_FORCE_KERNELS", "expect_present", "expects_present", "follow_contacts"]


@compiled
def expect_present(engine: Table) -> None:
    """Expect what there is at the iterate, at which candidates are measured."""
    runs, candidates = engine.runs, engine.candidates
    for run in range(runs.count):
        activation = runs.activation[run]
        touches = runs.least[run] < activation
        if touches or runs.expects[run] == 1:
            for i in range(runs.begin[run], runs.begin[run + 1]):
                ratio = math.sqrt(candidates.square[i]) / activation if touches else 1.0
                candidates.final[i] = min(ratio, 1.0)
        runs.expects[run] = 0
    expect_present_limits(engine.joints)
    ask_soft(engine, EXPECT_PRESENT)
    engine.newton.unlike = 0


@compiled
def expects_present(engine: Table) -> bool:
    """Whether about as much is expected as there is at the iterate: directions are Newton's."""
    return engine.newton.unlike == 0 and expects_present_limits(engine.joints)


@compiled
def _follow_run(engine: Table, run: int) -> bool:
    """Expect what the direction has counted with; True if that differs from the trial state."""
    runs, candidates = engine.runs, engine.candidates
    activation = runs.activation[run]
    share = engine.newton.taken_share
    runs.expects[run] = 0
    unlike = False
    for i in range(runs.begin[run], runs.begin[run + 1]):
        ratio = math.sqrt(candidates.square[i]) / activation
        final = min(ratio, 1.0)
        if runs.known[run] == 1 and candidates.anchor[i] == 0.0:
            before = math.sqrt(runs.now_square[i]) / activation
            after = before - (before - ratio) / share
            final = candidates.final[i]
            if before < 1.0 or after < 1.0 or final < 1.0:
                final = expected_ratio(final, before, after)
        candidates.final[i] = final
        if final < 1.0:
            runs.expects[run] = 1
        unlike = unlike or differs(final, min(ratio, 1.0))
    return unlike


@entry_point(PART)
def follow_part(engine: Table, part: int, _member: int, _unused: int) -> int:
    """Let some runs expect what the direction has counted with; 1 if that is not nearly so yet."""
    runs = engine.runs
    unlike = 0
    for run in range(part * RUNS, min((part + 1) * RUNS, runs.count)):
        if runs.state[run] == AT_TRIAL:
            if _follow_run(engine, run):
                unlike = 1
        elif runs.expects[run] == 1:
            for i in range(runs.begin[run], runs.begin[run + 1]):
                engine.candidates.final[i] = 1.0
            runs.expects[run] = 0
    return unlike


@compiled
def follow_contacts(engine: Table) -> None:
    """Expect of contacts what the direction has counted with.

    Candidates must be measured at the trial state, to which ``taken_share`` of the direction leads.
    """
    parts = count_parts(engine.runs.count, RUNS)
    unlike = do_parts(engine, engine.entries.follow_part, parts)
    engine.newton.unlike = max(unlike, ask_soft(engine, FOLLOW))


EXPECTED_FORCE_KERNELS = (follow_part,)
