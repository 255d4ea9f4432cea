"""Tables of a plant by topic: what compiled code knows of a model."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["TOPICS"]

TOPICS = {
    "mujoco": Layout(
        "MuJoCo's functions",
        kinematics="i8",
        com_pos="i8",
        tendon="i8",
        flex="i8",
        make_mass="i8",
        collision="i8",
        geom_distance="i8",
        transmission="i8",
        forward_velocity="i8",
        com_velocity="i8",
        newton_euler="i8",
        forward_actuation="i8",
        actuation_model="i8",  # as it gets it: no force is by the next activation
        ask_actuators="i8",  # compiled entry point; 0 where there are none that MuJoCo is asked for
        asked_model="i8",  # as it gets it: without force limits that rows have
        make_constraint="i8",
        add_contact="i8",
        multiply_transposed="i8",
        read_control="i8",
        integrate_positions="i8",
        integrate_some_positions="i8",  # those of a list of bodies
        differentiate_positions="i8",
    ),
    "trees": Layout(
        "kinematic trees",
        start="i8[:]",
        size="i8[:]",
        spatial="i8[:]",
        balances="i8[:]",  # other trees, whose armature is that of joints
        floats="i8[:]",  # those of them whose one root has a free joint without armature
        body="i8[:]",
        bodies="i8[:]",
        centre="f8[:, 3]",  # of mass of a free body, in its joint's frame; 0 of other trees
        block_start="i8[:]",
    ),
    "bodies": Layout(
        "bodies",
        tree="i8[:]",
        root="i8[:]",
        reference="i8[:]",  # whose centre of mass is the reference point of its tree
        shifted_dof="i8[:]",  # whose root is not their reference
        shifted_body="i8[:]",  # of each of them
        last_dof="i8[:]",
        parent="i8[:]",
        dof="i8[:]",  # its first,
        dofs="i8[:]",  # and how many it has
        number="i4[:]",  # their numbers, 0, 1, ..., as MuJoCo takes lists of them
        # MuJoCo's arrays of bodies and joints (`asperity.plant.tree_motion`)
        pos="f8[:,:]",
        quat="f8[:,:]",
        ipos="f8[:,:]",
        iquat="f8[:,:]",
        mass="f8[:]",
        inertia="f8[:,:]",
        joint="i8[:]",  # its first,
        joints="i8[:]",  # and how many it has
    ),
    "dofs": Layout(
        "degrees of freedom",
        parent="i8[:]",
        tree="i8[:]",
        body="i8[:]",
        mass_rownnz="i8[:]",
        mass_rowadr="i8[:]",
        mass_colind="i8[:]",
        damping="f8[:]",
        stiffness="f8[:]",
        inverse_weight="f8[:]",  # diagonal of M⁻¹ in the initial pose
        armature="f8[:]",
    ),
    "joints": Layout(
        "joints",
        type="i8[:]",
        dof="i8[:]",
        qpos="i8[:]",
        pos="f8[:,:]",
        axis="f8[:,:]",
        reference_qpos="f8[:]",
        # limits and dry friction of joints
        limit_dof="i8[:]",
        limit_qpos="i8[:]",
        limit_range="f8[:,:]",  # within the margins
        limit_speed="f8[:]",
        limit_source="i8[:]",  # of the constraint set's rows
        ball_dof="i8[:]",
        ball_qpos="i8[:]",
        ball_range="f8[:]",  # largest angle, within the margin
        ball_source="i8[:]",
        friction_dof="i8[:]",
        friction_force="f8[:]",
        stiction_tolerance="f8",
        equality_dof="i8[:]",  # one that an equality holds, −1 if there is none
    ),
    "springs": Layout(
        "springs of hinges, slides and fixed tendons",
        known="i8[:]",  # per tree: 1 where these and gravity are all the potential energy
        tree="i8[:]",  # per spring
        first="i8[:]",  # of its terms, and one more
        qpos="i8[:]",  # per term: the length is the sum of these times their coefficients
        coefficient="f8[:]",
        numbers="f8[:,:]",  # lengths between which it is at rest, and k, k_1, k_2
    ),
    "tendons": Layout(
        "tendons",
        any="i8",
        limited="i8[:]",
        range="f8[:,:]",  # lengths at which limits push
        rownnz="i8[:]",  # of the tendons' Jacobian
        rowadr="i8[:]",
        colind="i8[:]",
    ),
    "passive": Layout(
        "springs and dampers that rows make implicit (`asperity.plant.passive_rows`)",
        # Numbers: lengths between which the spring is at rest, k, k_1, k_2, and b, b_1, b_2
        tendon="i8[:]",
        tendon_numbers="f8[:,8]",
        tendon_weight="f8[:]",  # J M⁻¹ Jᵀ in the initial pose
        dof="i8[:]",
        dof_qpos="i8[:]",  # −1 without a spring
        dof_numbers="f8[:,8]",
        # What a fluid drags: a body's equivalent box, or a geom as an ellipsoid
        drag_body="i8[:]",
        drag_geom="i8[:]",  # −1 of a box
        drag_numbers="f8[:,6]",  # lengths, and coefficients of blunt, slender and angular drag
        medium="f8[:]",  # density, viscosity, wind
        # Muscles, which act along outputs of actuators
        muscle_output="i8[:]",
        muscle_activation="i8[:]",  # index into act, −1 of what its control excites
        muscle_control="i8[:]",
        muscle_curves="f8[:,2,8]",  # `asperity.plant.muscles.muscle_curves`
        muscle_range="f8[:,2]",  # of forces
    ),
    "actuators": Layout(
        "actuators",
        # linear servos, treated implicitly
        servo_output="i8[:]",
        servo_asked="i8[:]",  # 1 where MuJoCo is asked for force and slopes
        servo_ctrl="i8[:]",
        servo_ctrl_range="f8[:,:]",
        servo_activation="i8[:]",  # index into act, −1 without dynamics
        servo_period="f8[:]",  # of a set-point that is an angle on a circle, or 0
        servo_gain="f8[:,:]",
        servo_bias="f8[:,:]",
        servo_range="f8[:,:]",
        servo_limited="i8[:]",  # dof that limits it with all else that acts there, or −1
        servo_joint_range="f8[:,:]",  # of the sum on that dof
        output_explicit="i8[:]",  # 1 for actuator outputs that act explicitly
        all_explicit="i8",  # 1 if MuJoCo's own sum of actuator forces is right
        # efforts of external systems: generalized forces, or forces of actuators that they command
        effort_dof="i8[:]",  # −1 for an actuator's
        effort_output="i8[:]",  # −1 for a generalized force
        effort_range="f8[:,:]",
        effort_start="i8[:]",  # of the dofs that an effort's row spans; none if it spans its own
        effort_span="i8[:]",
        dof_actuator_range="f8[:,:]",
        dof_actuator_gravcomp="i8[:]",
        # activation dynamics
        # 0 Euler, 1 exact exponential, 2 by its slope, 3 a set-point that slews, 4 a muscle's
        act_kind="i8[:]",
        act_number="i8[:]",  # among those of an actuator that MuJoCo is asked for, or −1
        act_output="i8[:]",  # of that actuator, −1 of set-points that slew
        # The control that a set-point slews to or that excites a muscle, its actuator if it is
        # delayed (or −1), and how MuJoCo interpolates it then.
        act_input="i8[:,:]",
        act_time_constant="f8[:]",  # of a set-point how fast it may slew
        act_muscle="f8[:,:]",  # `asperity.plant.muscles.muscle_parameters`
        act_range="f8[:,:]",
    ),
    "geoms": Layout(
        "geoms",
        body="i8[:]",
        kind="i8[:]",  # MuJoCo's types
        size="f8[:,:]",
        height_field="i8[:]",  # its number, −1 of other geoms
        # of those that may lie on height fields (`asperity.plant.detection.field_corners`)
        corner_first="i8[:]",
        corners="f8[:,:]",  # in the geom's frame
        corner_radius="f8[:]",
        plane_cylinder="i8[:,:]",  # pairs of geoms of these types, one of which moves
        # motion of geoms between samples
        box="f8[:,:]",  # centre and half sides in the geom's frame
        reach="f8[:]",  # farthest point from the geom's frame that turns with it
        inner_radius="f8[:]",
        extent="f8[:]",  # farthest that the box, grown by the inner radius, comes from the frame
        offset="f8[:]",  # and the centres of the balls below
        # boxes of parts of geoms, one of each that fills its hull: centre and half sides
        part_first="i8[:]",
        part_count="i8[:]",
        part_box="f8[:,:]",
        # centres of balls in geoms, of the inner radius: each geom's first one
        core_first="i8[:]",
        cores="f8[:,:]",
        collides="u1[:,:]",
        colliding="i8[:]",  # those that collide with any
        has_moving_surfaces="i8",
        surface_velocity="f8[:,:]",  # linear, angular, in the geom's frame
    ),
    "hulls": Layout(
        "convex hulls",
        # `asperity.plant.detection.hulls.Hulls`
        mesh="i8[:]",
        corner_first="i8[:]",
        corners="f8[:,:]",
        face_first="i8[:]",
        faces="f8[:,:]",
        shell="i8[:]",
        thickness="f8[:]",
        tolerance="f8",  # of MuJoCo's search for the least overlap [m]
    ),
    "height_fields": Layout(
        "height fields",
        rows="i8[:]",
        columns="i8[:]",
        size="f8[:,:]",  # half sides, height, and depth of the base
        data="i8[:]",  # address of the heights [single precision, over the largest]
    ),
    "materials": Layout(
        "contact parameters",
        of_geom="f8[:,:]",
        default="f8[:]",
        pairs="f8[:,:]",
        pair_keys="i8[:]",
    ),
}
"""Each plant has them for itself, with numbers that follow its model."""
