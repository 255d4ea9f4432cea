"""How well contacts were kept over a trajectory: penetration, and creep of what should stick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asperity.simulator import Simulator, Trajectory

__all__ = ["MOST_STATES", "ContactQuality", "measure_contacts"]

# States of a fixed-step trajectory that are looked at, per simulated second.
_RATE = 60.0
# So many states at most, spread evenly over the steps: each costs a millisecond or two.
MOST_STATES = 1000
# A contact sticks below so many stiction tolerances of slip.
_STICKING = 10.0


@dataclass(frozen=True)
class ContactQuality:
    """Contacts of a trajectory's states.

    A contact counts while its geoms overlap. It *sticks* while its surfaces slide along each other
    at less than 10 stiction tolerances: regularised friction has then not yet, or only just,
    reached the friction cone. Where contacts begin to slide the largest slip is therefore near this
    limit; the median is that of contacts at rest.

    Parameters
    ----------
    states : int
        Number of states looked at.
    count : int
        Number of contacts in them.
    penetration : float
        Largest overlap of two geoms [m].
    penetration_time : float
        When it occurred [s].
    sticking : int
        Number of contacts that stick.
    median_slip, largest_slip : float
        Slip speeds of contacts that stick [m/s].
    share_of_modulus : float
        Largest pressure of a pressure field over its modulus.
    clearance : float, optional
        Smallest distance of surfaces [m], from an integrator that keeps them apart; the other
        fields are then empty.
    """

    states: int
    count: int
    penetration: float
    penetration_time: float
    sticking: int
    median_slip: float
    largest_slip: float
    share_of_modulus: float = 0.0
    clearance: float | None = None


def measure_contacts(
    simulator: Simulator, trajectory: Trajectory, most: int = MOST_STATES
) -> ContactQuality:
    """Visit states of a trajectory after the fact, which leaves the steps as they were.

    Parameters
    ----------
    simulator : Simulator
        The one that made the trajectory; it is left at the trajectory's last state.
    trajectory : Trajectory
    most : int
        Number of states to look at.
    """
    clearance = simulator.clearance
    if clearance is not None:
        return ContactQuality(0, 0, 0.0, 0.0, 0, 0.0, 0.0, clearance=clearance)
    chosen = _choose(trajectory.time, simulator.integrator.time_step, most)
    data = simulator.data
    penetration, when, count, share = 0.0, float(trajectory.time[0]), 0, 0.0
    slips = [np.empty(0)]
    for index in chosen:
        data.time = trajectory.time[index]
        data.qpos[:] = trajectory.qpos[index]
        data.qvel[:] = trajectory.qvel[index]
        simulator.advance_to(float(data.time))
        depth, slip, tolerance = _contacts(simulator)
        touching = depth > 0.0
        count += int(np.count_nonzero(touching))
        if depth.max(initial=0.0) > penetration:
            penetration, when = float(depth.max()), float(data.time)
        share = max(share, float(simulator.patches.share_of_modulus.max(initial=0.0)))
        slips.append(slip[touching & (slip < _STICKING * tolerance)])
    slow = np.concatenate(slips)
    return ContactQuality(
        states=len(chosen),
        count=count,
        penetration=penetration,
        penetration_time=when,
        sticking=slow.size,
        median_slip=float(np.median(slow)) if slow.size else 0.0,
        largest_slip=float(slow.max(initial=0.0)),
        share_of_modulus=share,
    )


def _choose(time: np.ndarray, time_step: float | None, most: int) -> np.ndarray:
    """Indices of the states to look at."""
    last = len(time) - 1
    if time_step is None:
        return np.unique(np.linspace(0, last, min(last + 1, most)).round().astype(int))
    stride = max(1, round(1.0 / (_RATE * time_step)), -(-last // most))
    return np.append(np.arange(0, last, stride), last)


def _contacts(simulator: Simulator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth [m], slip speed and stiction tolerance [m/s] of the present state's contacts.

    The slip is that of the state itself; `Simulator.contacts` has that at the end of a step from
    there, since none has led to the state.
    """
    model, data = simulator.model, simulator.data
    table = simulator.session.world.current.contacts
    contacts = simulator.contacts
    count = len(contacts.point)
    velocity = np.zeros((count, 3))
    for side, sign in ((0, -1.0), (1, 1.0)):
        # Of deformable bodies the slip of geoms on them is shown.
        geom = contacts.geom[:, side]
        body = np.where(geom >= 0, model.geom_bodyid[geom], 0)
        # MuJoCo's body velocities (angular, linear) are those at the centre of mass of the tree.
        arm = contacts.point - data.subtree_com[model.body_rootid[body]]
        motion = data.cvel[body]
        velocity += sign * (motion[:, 3:] + np.cross(motion[:, :3], arm))
    frame = table.frame[:count].reshape(count, 3, 3)
    tangential = np.einsum("nij,nj->ni", frame[:, :2], velocity) + table.surface_velocity[:count]
    slip = np.hypot(tangential[:, 0], tangential[:, 1])
    return -contacts.signed_distance, slip, table.stiction_tolerance[:count].copy()
