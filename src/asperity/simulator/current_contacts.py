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

_GEOM, _FLEX = mujoco.mjtObj.mjOBJ_GEOM, mujoco.mjtObj.mjOBJ_FLEX


class Contact(NamedTuple):
    """One contact; see `Contacts`, whose columns these are."""

    geom: tuple[str, str]
    """The two geoms or flexes by name; one without goes by its number, ``"Geom 3"``."""
    point: np.ndarray
    normal: np.ndarray
    signed_distance: float
    force: np.ndarray
    torque: np.ndarray
    normal_force: float
    slip_speed: float
    patch: int
    flex: np.ndarray
    elem: np.ndarray
    vert: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """Contacts of the last step, n of them, with the forces that they delivered.

    ``len(contacts)`` is their number, ``contacts[3]`` a `Contact`, ``for contact in contacts``
    takes one after the other, and ``contacts[mask]`` is a selection. `of` selects by names.

    A force is the impulse of the step over its length. At rest forces add up to the weight, and in
    motion their impulses to the change of momentum. Points, normals and distances are those of the
    step's beginning. (Under error control the last step is the second half of a doubled one.
    Contacts and forces of the trapezoid scheme and of `Midas` are those of a step's end.) At the
    beginning, or after the state was changed, they are those of a step from there. Forces of
    classical integrators are those of the state.

    Normals point from the first geom to the second, forces and torques act on the second geom; all
    are in world axes.

    Parameters
    ----------
    geom : ndarray of int, shape (n, 2)
        Numbers of the geoms, −1 of a flex.
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
    flex : ndarray of int, shape (n, 2)
        Deformable bodies, −1 of a geom.
    elem : ndarray of int, shape (n, 2)
        Their elements in contact, −1 of a geom or vertex.
    vert : ndarray of int, shape (n, 2)
        Their vertices in contact, −1 of a geom or element.
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
    flex: np.ndarray
    elem: np.ndarray
    vert: np.ndarray
    model: mujoco.MjModel

    def __len__(self) -> int:
        return len(self.geom)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, int | np.integer):
            row = {name: values[which] for name, values in self.arrays().items()}
            row["geom"] = self._names(which)
            return Contact(**row)
        return replace(self, **{name: values[which] for name, values in self.arrays().items()})

    def __iter__(self) -> Iterator[Contact]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        pairs = Counter(map(self._names, range(len(self))))
        listed = ", ".join(f"{a} – {b}: {n}" for (a, b), n in pairs.most_common(4))
        more = f", and {len(pairs) - 4} more pairs" if len(pairs) > 4 else ""
        total = f"; {self.normal_force.sum():.4g} N in all" if len(self) else ""
        return f"<{len(self)} contacts{': ' if listed else ''}{listed}{more}{total}>"

    def arrays(self) -> dict[str, np.ndarray]:
        """All columns by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "model"}

    def of(self, name: str, other: str | None = None) -> Contacts:
        """Contacts of a geom, flex or body, or those between two.

        Parameters
        ----------
        name, other : str
            Names or globs such as ``"finger_*"``, of geoms and flexes, or if there are none, of
            bodies.

        Raises
        ------
        ArgumentError
            If no geom, flex or body has such a name.
        """
        touches = self._sides(name)
        if other is None:
            return self._chosen(touches.any(axis=1))
        against = self._sides(other)
        return self._chosen((touches & against[:, ::-1]).any(axis=1))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each, vectors by ``_x``, ``_y`` and ``_z``."""
        columns: dict[str, Any] = {}
        for name, values in self.arrays().items():
            if name == "geom":
                names = [self._names(i) for i in range(len(self))]
                for side in range(2):
                    columns[f"geom{side + 1}"] = [pair[side] for pair in names]
            elif values.ndim == 1:
                columns[name] = values
            elif values.shape[1] == 2:
                columns |= {f"{name}{side + 1}": values[:, side] for side in range(2)}
            else:
                columns |= {f"{name}_{axis}": values[:, k] for k, axis in enumerate("xyz")}
        return data_frame(columns)

    # -- inside --------------------------------------------------------------------------------

    def _chosen(self, mask: Any) -> Contacts:
        chosen: Contacts = self[mask]
        return chosen

    def _names(self, number: int | np.integer[Any]) -> tuple[str, ...]:
        """Of both sides of a contact."""
        return tuple(
            self._name(_GEOM, geom) if geom >= 0 else self._name(_FLEX, flex)
            for geom, flex in zip(self.geom[number], self.flex[number], strict=True)
        )

    def _name(self, kind: mujoco.mjtObj, number: int) -> str:
        name = mujoco.mj_id2name(self.model, kind, int(number))
        return name or element(self.model, kind, int(number))

    def _sides(self, pattern: str) -> np.ndarray:
        """Which sides of which contacts have such a name, shape (n, 2)."""
        model = self.model
        geoms = _named(model, _GEOM, model.ngeom, pattern)
        flexes = _named(model, _FLEX, model.nflex, pattern)
        if not geoms and not flexes:
            bodies = _named(model, mujoco.mjtObj.mjOBJ_BODY, model.nbody, pattern)
            if not bodies:
                raise ArgumentError(
                    f"no geom, flex or body is named {pattern!r}; 'asperity info' lists the names."
                )
            geoms = np.flatnonzero(np.isin(model.geom_bodyid, bodies)).tolist()
        found: np.ndarray = np.isin(self.geom, geoms) | np.isin(self.flex, flexes)
        return found


def _named(model: mujoco.MjModel, kind: mujoco.mjtObj, count: int, pattern: str) -> list[int]:
    """Numbers of the elements of a kind whose names match a glob."""
    names = [mujoco.mj_id2name(model, kind, i) for i in range(count)]
    return [i for i, name in enumerate(names) if name and fnmatch.fnmatchcase(name, pattern)]


def read_contacts(model: mujoco.MjModel, delivered: Table) -> Contacts:
    """Contacts that a step has delivered."""
    ngeom = model.ngeom
    contacts = delivered.contacts
    count = contacts.count
    frame = contacts.frame[:count].reshape(count, 3, 3)
    force = contacts.impulse[:count] / delivered.step
    ellipsoidal = contacts.ellipsoidal[:count] != 0
    turn = np.where(ellipsoidal[:, None], contacts.angular_impulse[:count], 0.0) / delivered.step
    velocity = contacts.velocity[:count]
    geom = contacts.geom[:count]
    return Contacts(
        geom=np.where(geom < ngeom, geom, -1),
        point=contacts.point[:count].copy(),
        normal=frame[:, 2].copy(),
        signed_distance=contacts.signed_distance[:count].copy(),
        force=np.einsum("ni,nij->nj", force, frame),
        torque=np.einsum("ni,nij->nj", turn, frame),
        normal_force=force[:, 2].copy(),
        slip_speed=np.hypot(velocity[:, 0], velocity[:, 1]),
        patch=contacts.patch[:count].copy(),
        flex=np.where(geom < ngeom, -1, geom - ngeom),
        elem=contacts.element[:count].copy(),
        vert=contacts.vertex[:count].copy(),
        model=model,
    )
