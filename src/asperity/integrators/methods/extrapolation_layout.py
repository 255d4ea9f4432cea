"""What extrapolated steps remember of the step before."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["EXTRAPOLATION"]

EXTRAPOLATION = Layout(
    "extrapolation",
    # Of every tree and solution (before the step, of the whole step, and of the two half steps) the
    # fastest closing speeds, times dissipation, and how many contacts push.
    closing="f8[4, trees]",
    pushing="i8[4, trees]",
    island="i8[trees]",  # of every tree, at the beginning of the step
    smooth="i8[trees]",
    rough="i8[trees]",  # per island
    stiff="f8[trees]",  # of the contacts of every tree, for a half step
    # Of the forces in the middle (`asperity.integrators.methods.middle_forces`): islands in which
    # something is held, the shares of trees, 0 of those whose forces were not corrected in the last
    # step, and of islands by how much these change a velocity, and the fastest.
    held="i8[trees]",
    corrected="f8[trees]",
    changed="f8[trees]",
    fastest="f8[trees]",
    middle_force="f8[dofs]",  # and what these forces change by
    # Of springs (`asperity.integrators.methods.springs`): room for the factor of a tree's mass
    # matrix, and for twice its size.
    factor="f8[square]",
    factor_row="f8[twice]",
    # Of what swings (`asperity.integrators.methods.swings`): of every island whether it may and
    # whether it floats, what is left of its correction for how far it turns, products, and the
    # shares of velocities and of positions, and whether it has implicit springs; v̂ − v_0, u without
    # what is solved for, v_1 and w about centres of mass, their momenta, v_2 as u, an entry point.
    # Then what is added to velocities and, over δt, to positions, also by vibrations
    # (`asperity.integrators.methods.vibrations`).
    swings="i8[trees]",
    floating="i8[trees]",
    turning="f8[trees]",
    sums="f8[trees, 21]",
    speed_share="f8[trees]",
    travel_share="f8[trees]",
    sprung="i8[trees]",
    kick="f8[dofs]",
    tangent="f8[dofs]",
    middle="f8[dofs]",
    momentum="f8[dofs]",
    late="f8[dofs]",
    velocity_response="i8",
    faster="f8[dofs]",
    moved="f8[dofs]",
    vibrating="f8[trees]",  # what is left of this of every island
    spins="f8[2, trees, 5]",  # of islands at the beginning and halfway (`asperity.soft.rates`)
    # Of the balance of energy (`asperity.integrators.methods.energy_balance`): the work of rows on
    # trees, by all but equalities and by these; islands that nothing leaves out, those that the
    # world holds, and their trees; energies of trees at the beginning, at the end, and at a
    # position beside that or once it has moved on; of islands what they lack by both sums of work,
    # how much they jump, twice their kinetic energy, the derivative of energy by λ, what they gain
    # by moving on, λ and s.
    work_of_whole="f8[2, trees]",
    work_of_halves="f8[2, trees]",
    balanced_island="i8[trees]",
    fixed="i8[trees]",
    balanced="i8[trees]",
    energy="f8[3, trees]",
    beside="f8[positions]",
    lacking="f8[trees]",
    lacking_otherwise="f8[trees]",
    jumped="f8[trees]",
    twice_kinetic="f8[trees]",
    slope="f8[trees]",
    gained="f8[trees]",
    energy_share="f8[trees]",
    scale="f8[trees]",
)
