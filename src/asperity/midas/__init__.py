"""The intersection-free engine: affine bodies, incremental potential contact, joints and motors.

One step passes through these functions, in this order:

1.  `time.step.solve_step` chooses BDF2, or implicit Euler after an impact (`time.second_order`).
2.  `time.step_start.prepare_step` predicts where inertia leads, and starts the step's energy.
3.  `lists.candidate_lists.rebuild`, the broad phase, gives vertices boxes that hold their paths
    (`lists.vertex_boxes`) and lists stencils whose boxes meet (`lists.candidates`).
4.  `energy.friction_stencils.collect_friction` freezes the normal forces that friction goes by.
5.  `newton.energy_newton.minimize` repeats 6 to 8 until a step is small.
6.  `newton.directions.choose_direction` takes gradient and Hessian of all terms, one file each,
    from `energy.energy_assembly.assemble`, and factorizes (`factor.cholesky`). Barriers have the
    curvature that leads to the forces which the last direction has counted with
    (`energy.expected_forces`), and with contacts of free bodies that it is about to make
    (`newton.anticipation`) the direction is found again.
7.  `newton.trial.safe_share` is how far the direction may be followed: before surfaces collide
    (`geometry.collision_time`) or limits are reached. Where vertices would leave their boxes, 3
    comes first, along the direction.
8.  `_descend`, the line search, goes as far as `newton.incremental_potential` falls.
9.  `energy.equality_terms.raise_multipliers` closes gaps of equalities, `soft.edges.close_edges`
    those of edges (5 again), and steps whose normal forces have changed by more than a tenth are
    solved again with the new ones (4 again).
10. `time.step_end.finish_step` keeps the state, and lets bodies part after impacts
    (`time.rebounds`); `pose.poses` writes ``qpos`` and ``qvel``.

All functions share one table of tables (`engine_layout.MIDAS`), and take those that they read.
"""

from asperity.midas.preset import Midas

__all__ = ["Midas"]
