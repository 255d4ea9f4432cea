"""Contact parameters from Python and from the model file."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from asperity.contact.combination import PARAMETERS, STATIC_FRICTION, UNSET, combine
from asperity.errors import ArgumentError, AsperityError, ModelError
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.material import Material
from asperity.plant.model.resolved_materials import resolve_materials

BODIES = """
<geom name='floor' type='plane' size='1 1 1' friction='0.4'/>
<body name='gripper'>
  <joint type='slide'/>
  <geom name='palm' size='0.1'/>
  <body name='left'><joint/><geom name='finger_left' size='0.1' friction='0.9'/></body>
  <body name='right'><joint/><geom name='finger_right' size='0.1'/><geom size='0.1'/></body>
</body>
<body name='cup' pos='0 0 1'><freejoint/>
  <geom name='wall' size='0.1'/><geom name='handle' size='0.1'/>
</body>
"""
NAMES = (
    "stiffness",
    "dissipation",
    "friction",
    "dynamic_friction",
    "stiction_tolerance",
    "relaxation_time",
)


def model(*texts: tuple[str, str]) -> mujoco.MjModel:
    custom = "".join(f"<text name='{name}' data='{data}'/>" for name, data in texts)
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{BODIES}</worldbody><custom>{custom}</custom></mujoco>"
    )


def pair_values(
    built: mujoco.MjModel, given: ContactParameters, a: str, b: str, friction: float = 0.5
) -> dict[str, float]:
    """Parameters of the contact of two geoms."""
    tables = resolve_materials(built, given)
    out = np.zeros(PARAMETERS)
    combine(
        tables.geoms,
        tables.pairs,
        tables.pair_keys,
        tables.default,
        built.geom(a).id,
        built.geom(b).id,
        friction,
        out,
    )
    return dict(zip(NAMES, out.tolist(), strict=True))


def own(built: mujoco.MjModel, given: ContactParameters, geom: str) -> dict[str, float]:
    """Own values of a geom."""
    values = resolve_materials(built, given).geoms[built.geom(geom).id]
    return {name: x for name, x in zip(NAMES, values.tolist(), strict=True) if x != UNSET}


def test_defaults() -> None:
    assert pair_values(model(), ContactParameters(), "floor", "wall", 0.77) == {
        "stiffness": 1e5,
        "dissipation": 10.0,
        "friction": 0.77,
        "dynamic_friction": 0.77,
        "stiction_tolerance": 3e-6,
        "relaxation_time": UNSET,
    }


def test_given_defaults_hold_for_pairs() -> None:
    given = ContactParameters(stiffness=3e3, friction=0.8, dynamic_friction=0.2)
    found = pair_values(model(), given, "floor", "wall")
    assert found["stiffness"] == 3e3
    assert (found["friction"], found["dynamic_friction"]) == (0.8, 0.2)
    assert found["dissipation"] == 10.0


def test_globs_match_geoms_in_order() -> None:
    given = ContactParameters(
        geoms={
            "finger_*": Material(stiffness=2e4, friction=1.2),
            "*_right": Material(friction=0.7),
            "finger_l?ft": Material(dissipation=1.0),
        }
    )
    assert own(model(), given, "finger_left") == {
        "stiffness": 2e4,
        "friction": 1.2,
        "dynamic_friction": 1.2,
        "dissipation": 1.0,
    }
    # The later entry wins, and brings its own dynamic friction.
    assert own(model(), given, "finger_right") == {
        "stiffness": 2e4,
        "friction": 0.7,
        "dynamic_friction": 0.7,
    }
    assert own(model(), given, "palm") == {}


def test_bodies_give_to_all_their_geoms_but_not_to_children() -> None:
    given = ContactParameters(
        bodies={"right": Material(stiffness=5.0), "cup": Material(friction=0)}
    )
    built = model()
    tables = resolve_materials(built, given)
    geoms = np.flatnonzero(tables.geoms[:, 0] == 5.0)
    assert [int(built.geom_bodyid[g]) for g in geoms] == [built.body("right").id] * 2
    assert np.sum(tables.geoms[:, STATIC_FRICTION] == 0.0) == 2
    gripper = ContactParameters(bodies={"gripper": Material(stiffness=5.0)})
    assert own(built, gripper, "palm") == {"stiffness": 5.0}
    assert own(built, gripper, "finger_left") == {}


def test_geoms_win_over_bodies() -> None:
    given = ContactParameters(
        geoms={"handle": Material(stiffness=1.0)},
        bodies={"cup": Material(stiffness=2.0, dissipation=3.0)},
    )
    assert own(model(), given, "handle") == {"stiffness": 1.0, "dissipation": 3.0}
    assert own(model(), given, "wall") == {"stiffness": 2.0, "dissipation": 3.0}


def test_world_is_a_body() -> None:
    given = ContactParameters(bodies={"world": Material(friction=0.3)})
    assert own(model(), given, "floor")["friction"] == 0.3


def test_two_own_values_combine_and_one_stands_alone() -> None:
    given = ContactParameters(
        geoms={"wall": Material(stiffness=2e4), "finger_*": Material(stiffness=3e4)}
    )
    assert pair_values(model(), given, "wall", "finger_left")["stiffness"] == pytest.approx(1.2e4)
    assert pair_values(model(), given, "wall", "floor")["stiffness"] == 2e4
    assert pair_values(model(), given, "floor", "handle")["stiffness"] == 1e5


@pytest.mark.parametrize("key", [("finger_*", "wall"), ("wall", "finger_*"), ("left", "cup")])
def test_pairs(key: tuple[str, str]) -> None:
    given = ContactParameters(
        geoms={"*": Material(friction=0.9, stiffness=1e3)},
        pairs={key: Material(friction=0.8, dynamic_friction=0.6)},
    )
    for order in (("finger_left", "wall"), ("wall", "finger_left")):
        found = pair_values(model(), given, *order)
        assert (found["friction"], found["dynamic_friction"]) == (0.8, 0.6)
        assert found["stiffness"] == 500.0
    assert pair_values(model(), given, "floor", "wall")["friction"] == pytest.approx(0.9)


def test_later_pairs_win() -> None:
    given = ContactParameters(
        pairs={
            ("finger_*", "cup"): Material(friction=0.8, stiffness=5.0),
            ("wall", "finger_left"): Material(friction=0.1),
        }
    )
    found = pair_values(model(), given, "finger_left", "wall")
    assert (found["friction"], found["dynamic_friction"]) == (0.1, 0.1)
    assert found["stiffness"] == 5.0
    assert pair_values(model(), given, "finger_left", "handle")["friction"] == 0.8


def test_geoms_come_before_bodies_in_a_pair() -> None:
    # "left" is a body; as soon as a geom has that name it is the geom.
    given = ContactParameters(pairs={("palm", "floor"): Material(friction=0.1)})
    assert pair_values(model(), given, "palm", "floor")["friction"] == 0.1


def test_keys_of_pairs_are_sorted() -> None:
    given = ContactParameters(pairs={("*", "*"): Material(friction=0.5)})
    keys = resolve_materials(model(), given).pair_keys
    assert len(keys) > 10
    assert np.all(np.diff(keys) > 0)


TEXTS = (
    ("asperity", "stiffness=2e5 dissipation=3"),
    ("asperity:geom:finger_*", "stiffness=2e4, friction=1.2"),
    ("asperity:body:cup", "dissipation=30"),
    ("asperity:pair:finger_*|cup", "friction=0.8 dynamic_friction=0.6"),
    ("another program", "stiffness=nothing of ours"),
    ("asperityx", "nor this"),
)


def test_parameters_in_the_model() -> None:
    built = model(*TEXTS)
    found = pair_values(built, ContactParameters(), "floor", "palm")
    assert (found["stiffness"], found["dissipation"]) == (2e5, 3.0)
    assert own(built, ContactParameters(), "finger_right") == {
        "stiffness": 2e4,
        "friction": 1.2,
        "dynamic_friction": 1.2,
    }
    assert own(built, ContactParameters(), "handle") == {"dissipation": 30.0}
    found = pair_values(built, ContactParameters(), "handle", "finger_right")
    assert (found["friction"], found["dynamic_friction"]) == (0.8, 0.6)


def test_python_wins_over_the_model() -> None:
    built = model(*TEXTS)
    given = ContactParameters(
        stiffness=7.0,
        geoms={"finger_left": Material(friction=0.5)},
        bodies={"cup": Material(dissipation=1.0)},
        pairs={("finger_left", "handle"): Material(friction=0.3)},
    )
    found = pair_values(built, given, "floor", "palm")
    assert (found["stiffness"], found["dissipation"]) == (7.0, 3.0)
    assert own(built, given, "finger_left") == {
        "stiffness": 2e4,
        "friction": 0.5,
        "dynamic_friction": 0.5,
    }
    assert own(built, given, "finger_right")["friction"] == 1.2
    assert own(built, given, "wall") == {"dissipation": 1.0}
    found = pair_values(built, given, "finger_left", "handle")
    assert (found["friction"], found["dynamic_friction"]) == (0.3, 0.3)
    assert pair_values(built, given, "finger_left", "wall")["friction"] == 0.8


def refused(
    error: type[AsperityError],
    words: tuple[str, ...],
    built: mujoco.MjModel,
    given: ContactParameters,
) -> None:
    with pytest.raises(error) as caught:
        resolve_materials(built, given)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


SOFT = Material(stiffness=1.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (ContactParameters(geoms={"fingr_*": SOFT}), ("geom", "'fingr_*'")),
        (ContactParameters(geoms={"cup": SOFT}), ("geom", "'cup'")),
        (ContactParameters(bodies={"handle": SOFT}), ("body", "'handle'")),
        (ContactParameters(pairs={("wall", "nothing"): SOFT}), ("'wall'", "named 'nothing'")),
        (ContactParameters(pairs={("none_*", "wall"): SOFT}), ("'wall'", "named 'none_*'")),
    ],
)
def test_names_that_match_nothing(given: ContactParameters, words: tuple[str, ...]) -> None:
    refused(ArgumentError, words, model(), given)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("asperity", "stifness=1", ("'asperity'", "'stifness=1'", "stiffness")),
        ("asperity", "stiffness", ("'asperity'", "'stiffness'")),
        ("asperity", "stiffness 1", ("'stiffness'",)),
        ("asperity", "stiffness=soft", ("'asperity'", "stiffness", "'soft'")),
        ("asperity", "stiffness=0", ("'asperity'", "stiffness", "positive")),
        ("asperity", "dissipation=-1", ("'asperity'", "dissipation", "-1")),
        ("asperity", "friction=nan", ("'asperity'", "friction", "nan")),
        ("asperity", "stiction_tolerance=0", ("stiction_tolerance", "positive")),
        ("asperity:geoms:wall", "friction=1", ("'asperity:geoms:wall'", "asperity:geom:NAME")),
        ("asperity:geom", "friction=1", ("'asperity:geom'",)),
        ("asperity:pair:wall", "friction=1", ("'asperity:pair:wall'", "NAME|NAME")),
        ("asperity:pair:a|b|c", "friction=1", ("'asperity:pair:a|b|c'",)),
        ("asperity:geom:missing", "friction=1", ("geom", "'missing'")),
        ("asperity:body:missing", "friction=1", ("body", "'missing'")),
        ("asperity:pair:wall|missing", "friction=1", ("'wall'", "named 'missing'")),
    ],
)
def test_texts_that_mean_nothing(name: str, data: str, words: tuple[str, ...]) -> None:
    refused(ModelError, words, model((name, data)), ContactParameters())


@pytest.mark.parametrize("kind", [Material, ContactParameters])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "soft"])
def test_values_that_make_no_sense(kind: type, name: str, value: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        kind(**{name: value})
    assert kind.__name__ in str(caught.value)
    assert name in str(caught.value)
    assert str(value) in str(caught.value)


@pytest.mark.parametrize("name", ["stiffness", "stiction_tolerance"])
def test_zero_where_it_would_divide(name: str) -> None:
    with pytest.raises(ArgumentError, match="positive"):
        Material(**{name: 0.0})


def test_zero_friction_and_dissipation_are_allowed() -> None:
    material = Material(friction=0.0, dissipation=0.0, dynamic_friction=0.0)
    assert material.row().tolist() == [UNSET, 0.0, 0.0, 0.0, UNSET, UNSET]


def test_dynamic_friction_above_static_friction() -> None:
    with pytest.raises(ArgumentError, match=r"dynamic_friction 0\.9 must not exceed friction 0\.5"):
        Material(friction=0.5, dynamic_friction=0.9)


def test_something_else_than_contact_parameters() -> None:
    with pytest.raises(ArgumentError, match="dict"):
        resolve_materials(model(), {"stiffness": 1.0})  # type: ignore[arg-type]
