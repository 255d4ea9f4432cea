"""What a simulation has taken from a model, to notice when a user changes it.

A plant keeps copies of the model's numbers, and a state's snapshot was made with them. MuJoCo reads
the model anew in every step, and so users expect: before every advance the numbers that enter the
motion are compared with those that were taken. They are a few ranges of the model's one block of
memory, some ten kilobytes for a humanoid, compared in about a microsecond.

Not compared is what does not enter the motion (appearance, names, keyframes, sensors) and what the
model's compiler derives from the vertices of meshes. Vertices themselves can be megabytes, of which
comparing would cost more than a step: of many, some of every mesh that may collide are compared.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import types

from asperity.compiled import HoldsAddresses, Layout, Table, compiled, compiled_loop
from asperity.compiled.calls import call_ppp_status, load_address
from asperity.errors import ModelError
from asperity.plant import native
from asperity.plant.model.model_view import OPTION
from asperity.plant.model.names import element

__all__ = ["WATCH", "WATCH_KERNELS", "ModelWatch", "differs", "is_watched"]

_WORD = 8
_INT = 0xFFFFFFFF

_UNREAD_PREFIXES = (
    # appearance, and poses that follow from the bodies'
    "cam_", "light_", "mat_", "skin_", "tex_",
    # for users
    "key_", "name_", "names", "numeric_", "paths", "text_", "tuple_",
    # read when a state is published
    "sensor_",
    # read by MuJoCo where it is needed
    "flex",
    # what models with physics may not have
    "efm", "oct_", "plugin",
    # derived by the compiler from meshes
    "bvh_", "mesh_",
)  # fmt: skip
_UNREAD_SUFFIXES = ("_user", "_rgba", "_matid", "_pathadr", "_castshadow")
_UNREAD = frozenset(
    {"body_bvhadr", "body_bvhnum", "geom_group", "jnt_group", "site_group", "tendon_group"}
    | {"tendon_width", "buffer"}
)

# Of flexes, which alone are not read where they are needed.
_READ = frozenset(
    {"flex_contype", "flex_conaffinity", "flex_condim", "flex_priority", "flex_friction"}
    | {"flex_margin"}
    | {"flex_stiffness", "flex_damping", "flex_vert", "flex_node", "flex_radius", "flex_bending"}
    | {"flex_edgestiffness", "flex_edgedamping", "flexedge_length0", "flex_yield"}
)

_STRUCTURE = frozenset((
    "body_parentid", "body_rootid", "body_weldid", "body_mocapid", "body_jntnum", "body_jntadr",
    "body_dofnum", "body_dofadr", "body_treeid", "body_geomnum", "body_geomadr", "jnt_type",
    "jnt_qposadr", "jnt_dofadr", "jnt_bodyid", "jnt_plasticadr", "dof_bodyid", "dof_jntid",
    "dof_parentid", "dof_treeid", "dof_Madr", "dof_simplenum", "tree_bodyadr", "tree_bodynum",
    "tree_dofadr", "tree_dofnum", "geom_bodyid", "site_bodyid", "hfield_nrow", "hfield_ncol",
    "hfield_adr", "tendon_adr", "tendon_num", "tendon_treenum", "tendon_treeid",
    "tendon_plasticadr", "ten_J_rownnz", "ten_J_rowadr", "ten_J_colind", "actuator_ctrladr",
    "actuator_ctrlnum", "actuator_outadr", "actuator_outnum", "actuator_actadr",
    "actuator_actnum", "actuator_historyadr", "B_rownnz", "B_rowadr", "B_colind", "M_rownnz",
    "M_rowadr", "M_colind", "mapM2M", "D_rownnz", "D_rowadr", "D_diag", "D_colind", "mapM2D",
    "mapD2M", "pair_geom1", "pair_geom2", "wrap_type", "wrap_objid", "actuator_trntype",
    "actuator_trnid", "eq_type",
))  # fmt: skip

_OWNERS = {
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "jnt": mujoco.mjtObj.mjOBJ_JOINT,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON,
    "flex": mujoco.mjtObj.mjOBJ_FLEX,
}

_MESHES = ("mesh_vert", "mesh_face")
# Vertices that are compared whole [words], in about two microseconds, and how many words of more.
_WHOLE = 2**14
_SAMPLES = 256

WATCH = Layout(
    "model watch",
    compare="i8",  # C's memcmp
    spans="i8[:,:]",  # address, number of words
    known="i8[:]",
)


def is_watched(field: str, *, meshes: bool = False) -> bool:
    """Whether a change of an array of ``MjModel`` is noticed.

    ``meshes`` adds vertices and faces of meshes, for methods that make surfaces of them. Without
    it vertices are compared, too, but in models with more than 128 kB of them only some.
    """
    if field in _MESHES:
        return meshes
    return field in _READ or not (
        field in _UNREAD or field.startswith(_UNREAD_PREFIXES) or field.endswith(_UNREAD_SUFFIXES)
    )


@compiled
def differs(watch: Table) -> int:
    """Whether any word is another one than was known."""
    known = watch.known.ctypes.data
    for span in range(watch.spans.shape[0]):
        if watch.spans[span, 1] == 1:
            if load_address(watch.spans[span, 0]) != load_address(known):
                return 1
            known += _WORD
            continue
        size = _WORD * watch.spans[span, 1]
        # A C int: what is above its 32 bits is of no account.
        if call_ppp_status(watch.compare, watch.spans[span, 0], known, size) & _INT != 0:
            return 1
        known += size
    return 0


@compiled_loop(types.int64(types.int64))
def _differs(watch_address: int) -> int:
    return differs(WATCH.at(watch_address))


WATCH_KERNELS = (_differs,)
"""What `ModelWatch` needs compiled."""


class ModelWatch(HoldsAddresses):
    """Remembers the numbers of a model that enter the motion.

    Parameters
    ----------
    model : mujoco.MjModel
    meshes : bool
        Whether all vertices and faces of meshes are among them.
    """

    def __init__(self, model: mujoco.MjModel, *, meshes: bool = False) -> None:
        self._model = model
        self._fields = [
            (name, first, last)
            for name, first, last in native.model_arrays(model)
            if is_watched(name, meshes=meshes) and last > first
        ]
        spans: list[list[int]] = []
        for _, first, last in self._fields:
            if spans and spans[-1][0] + _WORD * spans[-1][1] == first:
                spans[-1][1] += (last - first) // _WORD
            else:
                spans.append([first, (last - first) // _WORD])
        # Where the fields begin among the words that are compared; options come after them.
        counts = [(last - first) // _WORD for _, first, last in self._fields]
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        # The time step is read where it is used; all other options follow it. Before it are flags.
        option = model._address + native.offset("mjModel", "opt")
        timestep = option + native.offset("mjOption", "timestep")
        flags = model._address + native.offset("mjModel", "flg_gravcomp") // _WORD * _WORD
        end = option + native.struct_size("mjOption")
        spans.append([flags, (timestep - flags) // _WORD])
        spans.append([timestep + _WORD, (end - timestep - _WORD) // _WORD])
        self._further = [
            name
            for first, count in spans[-2:]
            for name in _names(model, first, first + _WORD * count)
        ]
        if not meshes:
            spans += _vertex_spans(model)
        self._views = [native.memory(first, count) for first, count in spans]
        self._table = Table(
            WATCH,
            compare=native.function_address("memcmp"),
            spans=np.array(spans, np.int64),
            known=np.concatenate(self._views),
        )

    @property
    def table(self) -> Table:
        """What is compared, for compiled code."""
        return self._table

    def changed(self) -> bool:
        """Whether any of the numbers is another one than those that are remembered."""
        return bool(_differs.call(self._table.address))

    def remember(self) -> None:
        """Take what the model holds now for known."""
        np.concatenate(self._views, out=self._table.known)

    def changed_fields(self) -> list[tuple[str, int]]:
        """Arrays of the model that have changed, each with its first byte that has."""
        now = np.concatenate(self._views)
        words = np.flatnonzero(now != self._table.known)
        found = []
        for number in np.unique(np.searchsorted(self._starts, words, side="right") - 1):
            if number >= len(self._fields):  # options
                break
            name = self._fields[number][0]
            word = int(words[np.searchsorted(words, self._starts[number])])
            before = self._table.known[word : word + 1].view(np.uint8)
            byte = int(np.argmax(now[word : word + 1].view(np.uint8) != before))
            found.append((name, _WORD * (word - int(self._starts[number])) + byte))
        return found

    def changed_names(self) -> set[str]:
        """Names of all that has changed, as a `ModelView` has them."""
        words = np.flatnonzero(np.concatenate(self._views) != self._table.known)
        further = words[words >= self._starts[-1]] - self._starts[-1]
        names = {name for name, _ in self.changed_fields()}
        for word in further.tolist():
            names.update(self._further[word] if word < len(self._further) else {"mesh_vert"})
        return names

    def refuse_other_structure(self) -> None:
        """Refuse changes that would make another mechanism of the model.

        Raises
        ------
        ModelError
            Naming the field and the element.
        """
        if _STRUCTURE.isdisjoint(self.changed_names()):
            return
        for name, byte in self.changed_fields():
            if name in _STRUCTURE:
                raise ModelError(
                    f"MjModel.{name}{_whose(self._model, name, byte)} has changed since the "
                    "simulator was made, and the structure of a model cannot change; make a new "
                    "Simulator (for asperity.step, a new MjData)."
                )


def _names(model: mujoco.MjModel, first: int, last: int) -> list[set[str]]:
    """Names of flags and options in each word between two addresses of a model."""
    option = native.offset("mjModel", "opt")
    places = native.places("mjModel") | {
        OPTION + name: (option + first, option + last)
        for name, (first, last) in native.places("mjOption").items()
    }
    begin = first - model._address
    return [
        {name for name, (start, end) in places.items() if start < word + _WORD and end > word}
        for word in range(begin, begin + last - first, _WORD)
    ]


def _vertex_spans(model: mujoco.MjModel) -> list[list[int]]:
    """Address and number of words of vertices that are compared without those of all meshes."""
    first, last = next(
        (begin, end) for name, begin, end in native.model_arrays(model) if name == "mesh_vert"
    )
    if last - first <= _WORD * _WHOLE:
        return [[first, (last - first) // _WORD]]
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    collides[model.pair_geom1] = collides[model.pair_geom2] = True
    collides &= model.geom_type == mujoco.mjtGeom.mjGEOM_MESH
    meshes = np.unique(model.geom_dataid[collides])
    each = max(_SAMPLES // max(len(meshes), 1), 2)
    words: set[int] = set()
    for mesh in meshes:
        vertex, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        # Of three floats each: the words of the first numbers of some vertices.
        some = np.linspace(vertex, vertex + count - 1, min(each, count)).astype(int)
        words.update((12 * some // _WORD).tolist())
    return [[first + _WORD * word, 1] for word in sorted(words)]


def _whose(model: mujoco.MjModel, name: str, byte: int) -> str:
    array = np.asarray(getattr(model, name))
    row = byte // max(array.nbytes // max(len(array), 1), 1)
    kind = _OWNERS.get(name.partition("_")[0])
    return f"[{row}]" if kind is None else f" of {element(model, kind, row)}"
