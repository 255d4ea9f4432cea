"""Contacts of a simulation: arrays with a row for each, and one by one."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.errors import ArgumentError
from asperity.plant.model.names import element
from asperity.simulator.columns import data_frame

__all__ = ["Contact", "Contacts", "read_contacts"]


class Contact(NamedTuple):
    """One contact; see `Contacts`, whose columns these are."""

    geom: tuple[str, str]
    """The two geoms by name; a geom without one goes by its number, ``"Geom 3"``."""
    point: np.ndarray
    normal: np.ndarray
    signed_distance: float
    force: np.ndarray
    torque: np.ndarray
    normal_force: float
    slip_speed: float
    patch: int


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """Contacts of the last step, n of them, with the forces that they delivered.

    ``len(contacts)`` is their number, ``contacts[3]`` a `Contact`, ``for contact in contacts``
    takes one after the other, and ``contacts[mask]`` is a selection. `of` selects by names.

    A force is the impulse of the step over its length: at rest they add up to the weight, and times
    the step to the change of momentum. Points, normals and distances are those of the step's
    beginning, with which it was solved. (Under error control the last step is the second half of a
    doubled one. Contacts and forces of the trapezoid scheme and of `Midas` are those of a step's
    end.) Where no step has led to the state, at the beginning or after it was changed, they are
    those of a step from there. Classical integrators know forces at an instant only: theirs belong
    to the state.

    Normals point from the first geom to the second, forces and torques act on the second geom; all
    are in world axes.

    Parameters
    ----------
    geom : ndarray of int, shape (n, 2)
        Numbers of the geoms.
    point : ndarray, shape (n, 3)
        Where the force acts [m].
    normal : ndarray, shape (n, 3)
        Unit normals.
    signed_distance : ndarray, shape (n,)
        Negative where the geoms overlap [m].
    force : ndarray, shape (n, 3)
        [N]
    torque : ndarray, shape (n, 3)
        That of torsional and rolling friction [Nm].
    normal_force : ndarray, shape (n,)
        Normal part of the force [N].
    slip_speed : ndarray, shape (n,)
        Speed of the surfaces along each other [m/s]: that of the step's end, for which the law of
        friction holds.
    patch : ndarray of int, shape (n,)
        Which patch of pressure fields a contact is a point of, −1 of point contacts.
    model : mujoco.MjModel
        The model, which has the names.
    """

    geom: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    signed_distance: np.ndarray
    force: np.ndarray
    torque: np.ndarray
    normal_force: np.ndarray
    slip_speed: np.ndarray
    patch: np.ndarray
    model: mujoco.MjModel

    def __len__(self) -> int:
        return len(self.geom)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, int | np.integer):
            row = {name: values[which] for name, values in self.arrays().items()}
            row["geom"] = tuple(self._name(g) for g in row["geom"])
            return Contact(**row)
        return replace(self, **{name: values[which] for name, values in self.arrays().items()})

    def __iter__(self) -> Iterator[Contact]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        pairs = Counter(tuple(self._name(g) for g in pair) for pair in self.geom)
        listed = ", ".join(f"{a} – {b}: {n}" for (a, b), n in pairs.most_common(4))
        more = f", and {len(pairs) - 4} more pairs" if len(pairs) > 4 else ""
        total = f"; {self.normal_force.sum():.4g} N in all" if len(self) else ""
        return f"<{len(self)} contacts{': ' if listed else ''}{listed}{more}{total}>"

    def arrays(self) -> dict[str, np.ndarray]:
        """All columns by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "model"}

    def of(self, name: str, other: str | None = None) -> Contacts:
        """Contacts of a geom or body, or those between two.

        Parameters
        ----------
        name, other : str
            Names or globs such as ``"finger_*"``, of geoms, or if there is no such geom, of bodies.

        Raises
        ------
        ArgumentError
            If neither a geom nor a body has such a name.
        """
        touches = np.isin(self.geom, self._geoms(name))
        if other is None:
            return self._chosen(touches.any(axis=1))
        against = np.isin(self.geom, self._geoms(other))
        return self._chosen((touches & against[:, ::-1]).any(axis=1))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each, vectors by ``_x``, ``_y`` and ``_z``."""
        columns: dict[str, Any] = {}
        for name, values in self.arrays().items():
            if name == "geom":
                for side, geoms in enumerate(values.T, start=1):
                    columns[f"geom{side}"] = [self._name(g) for g in geoms]
            elif values.ndim == 1:
                columns[name] = values
            else:
                columns |= {f"{name}_{axis}": values[:, k] for k, axis in enumerate("xyz")}
        return data_frame(columns)

    # -- inside --------------------------------------------------------------------------------

    def _chosen(self, mask: Any) -> Contacts:
        chosen: Contacts = self[mask]
        return chosen

    def _name(self, geom: int) -> str:
        return self.model.geom(int(geom)).name or element(
            self.model, mujoco.mjtObj.mjOBJ_GEOM, int(geom)
        )

    def _geoms(self, pattern: str) -> list[int]:
        model = self.model
        geoms = [model.geom(g).name for g in range(model.ngeom)]
        found = [g for g, name in enumerate(geoms) if name and fnmatch.fnmatchcase(name, pattern)]
        if found:
            return found
        bodies = [model.body(b).name for b in range(model.nbody)]
        named = [b for b, name in enumerate(bodies) if fnmatch.fnmatchcase(name, pattern)]
        if not named:
            raise ArgumentError(f"no geom or body is named {pattern!r}.")
        return np.flatnonzero(np.isin(model.geom_bodyid, named)).tolist()


def read_contacts(model: mujoco.MjModel, delivered: Table) -> Contacts:
    """Contacts that a step has delivered."""
    contacts = delivered.contacts
    count = contacts.count
    frame = contacts.frame[:count].reshape(count, 3, 3)
    force = contacts.impulse[:count] / delivered.step
    ellipsoidal = contacts.ellipsoidal[:count] != 0
    turn = np.where(ellipsoidal[:, None], contacts.angular_impulse[:count], 0.0) / delivered.step
    velocity = contacts.velocity[:count]
    return Contacts(
        geom=contacts.geom[:count].copy(),
        point=contacts.point[:count].copy(),
        normal=frame[:, 2].copy(),
        signed_distance=contacts.signed_distance[:count].copy(),
        force=np.einsum("ni,nij->nj", force, frame),
        torque=np.einsum("ni,nij->nj", turn, frame),
        normal_force=force[:, 2].copy(),
        slip_speed=np.hypot(velocity[:, 0], velocity[:, 1]),
        patch=contacts.patch[:count].copy(),
        model=model,
    )
