"""Deformable bodies that cannot be simulated are refused by name."""

from __future__ import annotations

import mujoco
import pytest
from midas_models import cloth
from soft_models import compile_soft, cube

import asperity as asp

ROD = (
    "<flexcomp name='r' type='grid' dim='1' count='4 1 1' spacing='0.1 1 1' mass='1' radius='0.01'>"
    "<elasticity young='1e6'/></flexcomp>"
)

GRID = "type='grid' count='3 3 3' spacing='0.1 0.1 0.1' mass='1'"
YOUNG = "<elasticity young='1e5' poisson='0.3'/>"


@pytest.mark.parametrize(
    "integrator",
    [
        asp.Sap(),
        asp.Tamsi(),
        asp.RungeKutta3(),
        asp.Cenic(error_estimate="trapezoid"),
        asp.Icf(friction_bound="similar"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_methods_without_flexes(integrator: asp.Integrator) -> None:
    model = compile_soft(cube())
    with pytest.raises(asp.ModelError, match="Flex 'cube' is deformable, which"):
        asp.Simulator(model, integrator=integrator)


@pytest.mark.parametrize(
    ("flex", "message"),
    [
        (
            f"<flexcomp name='f' {GRID} dim='3' dof='trilinear'><elasticity young='1e5'"
            " poisson='0.3' thickness='0.001' elastic2d='both' yield='0.1 0'/>"
            "<contact selfcollide='none'/></flexcomp>",
            "is a plastic shell of cells",
        ),
        (
            f"<flexcomp name='f' {GRID} dim='3' dof='trilinear'><elasticity young='1e5'"
            " poisson='0.3' thickness='0.001' elastic2d='bend'/></flexcomp>",
            "Nothing holds Flex 'f' together",
        ),
        (
            "<body name='b'><freejoint/><geom size='.1'/><flexcomp name='f' type='grid' dim='2'"
            " count='4 4 1' spacing='.1 .1 .1' pos='.3 0 0' radius='.01' dof='radial'>"
            "<elasticity young='1e5' poisson='0.3' thickness='0.01' elastic2d='bend'/>"
            "<edge equality='true'/></flexcomp></body>",
            "does not move along three axes of its own",
        ),
        (
            "<body name='b'><freejoint/><geom size='.1'/><flexcomp name='f' type='box' dim='3'"
            f" count='4 4 4' spacing='.1 .1 .1' dof='radial'>{YOUNG}</flexcomp></body>",
            "does not move along three axes of its own",
        ),
        (f"<flexcomp name='f' {GRID} dim='3' dof='trilinear'/>", "Nothing holds Flex 'f' together"),
        (
            f"<body mocap='true' name='b'><flexcomp name='f' {GRID} dim='3' rigid='true'/></body>",
            "is pinned to Body 'b', which is a mocap body",
        ),
        (
            "<body name='b' mocap='true'><flexcomp name='f' type='grid' dim='1' count='5 1 1'"
            " spacing='0.1 0.1 0.1' mass='1'><pin id='0'/><edge equality='true'/></flexcomp></body>",
            "is pinned to Body 'b', which is a mocap body",
        ),
        (
            "<body name='b'><joint/><geom size='0.1'/><flexcomp name='f' type='grid' dim='1' mass='1'"
            " count='5 1 1' spacing='0.1 0.1 0.1' radius='0.01'><pin id='0 1'/>"
            "<elasticity young='1e6'/></flexcomp></body>",
            "is a rod in a body that moves",
        ),
        (
            f"<flexcomp name='f' {GRID} dim='3'>{YOUNG}<pin id='0 1 2 3 4 5 6 7 8 9 10 11 12 14 15"
            " 16 17 18 19 20 21 22 23 24 25 26'/></flexcomp>",
            "has no neighbour that moves",
        ),
    ],
)
def test_flexes_that_are_not_simulated(flex: str, message: str) -> None:
    with pytest.raises(asp.ModelError, match=message):
        asp.Simulator(compile_soft(flex), integrator=asp.Icf())


def test_a_flex_between_two_bodies_that_move() -> None:
    slides = "".join(f"<joint type='slide' axis='{axis}'/>" for axis in ("1 0 0", "0 1 0", "0 0 1"))
    vertex = "<body name='v{0}' pos='{0} 0 0'><inertial mass='1' pos='0 0 0' diaginertia='1 1 1'/>"
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint/><geom size='0.1'/><body name='hand'><joint/>"
        "<geom size='0.1'/></body></body>"
        + "".join(vertex.format(i) + slides + "</body>" for i in (1, 2, 3))
        + "</worldbody><deformable><flex name='f' dim='1' body='hand v1 v2 v3' element='0 1 1 2 2"
        " 3' vertex='0 0 0 0 0 0 0 0 0 0 0 0'><edge stiffness='1'/></flex></deformable></mujoco>"
    )
    with pytest.raises(asp.ModelError, match="'f' is pinned to Body 'hand', which moves against"):
        asp.Simulator(model, integrator=asp.Icf())


def test_anisotropic_flex() -> None:
    model = compile_soft(cube())
    model.flex_stiffness[: len(model.flex_stiffness) // 2] *= 2.0
    with pytest.raises(asp.ModelError, match="is not isotropic"):
        asp.Simulator(model, integrator=asp.Icf())


def test_notes_say_what_is_approximated() -> None:
    report = asp.Simulator(compile_soft(cube()), integrator=asp.Icf()).load_report
    assert any("same mass" in note for note in report.notes)
    assert not any("tetrahedra" in note for note in report.notes)


def test_a_note_says_what_a_large_pad_costs() -> None:
    pad = cube(count=6).replace("<contact", "<pin gridrange='0 0 0 0 0 0'/><contact")
    model = compile_soft(f"<body name='b'><joint/><geom size='0.1'/>{pad}</body>")
    notes = asp.Simulator(model, integrator=asp.Icf()).load_report.notes
    assert any("215 vertices move in Body 'b'" in note for note in notes)


@pytest.mark.parametrize("around", [False, True])
def test_a_note_says_what_a_tendon_around_cloth_costs(around: bool) -> None:
    """Bodies that are all before the cloth leave its vertices trees of their own."""
    bodies = [
        f"<body pos='{k} 0 0'><joint/><geom size='0.01'/><site name='s{k}'/></body>"
        for k in range(1, 4)
    ]
    cloth = (
        "<flexcomp name='cloth' type='grid' dim='2' count='15 15 1' spacing='.02 .02 .02' mass='1'"
        " radius='.001'><elasticity young='1e5' poisson='.3' thickness='.002' elastic2d='both'/>"
        "</flexcomp>"
    )
    bodies.insert(2 if around else 3, cloth)
    over = "".join(f"<site site='s{k}'/>" for k in range(1, 4))
    model = compile_soft("".join(bodies), sections=f"<tendon><spatial>{over}</spatial></tendon>")
    notes = asp.Simulator(model, integrator=asp.Icf()).load_report.notes
    found = [note for note in notes if "225 vertices are one tree with what a tendon" in note]
    assert len(found) == around


def test_options_without_flexes_are_refused_later_too() -> None:
    sim = asp.Simulator(compile_soft(cube()), integrator=asp.Icf())
    with pytest.raises(asp.ModelError, match="Icf with friction_bound='similar' does not simulate"):
        sim.change_integrator(asp.Icf(friction_bound="similar"))


def test_pressure_fields_beside_a_flex() -> None:
    model = compile_soft("<body name='ball'><freejoint/><geom size='0.1'/></body>" + cube())
    contact = asp.ContactParameters(
        bodies={"ball": asp.Material(surface="compliant", hydroelastic_modulus=1e6)}
    )
    with pytest.raises(asp.ModelError, match="Pressure fields and deformable bodies"):
        asp.Simulator(model, integrator=asp.Icf(), contact=contact)


@pytest.mark.parametrize(
    ("body", "sections", "message"),
    [
        (cloth(radius=0.0), "", "has no thickness"),
        (cloth(radius=0.012), "", "twice its radius"),
        (
            "<flexcomp name='f' type='grid' dim='1' count='3 1 1' spacing='0.1 0.1 0.1' mass='1'"
            " radius='0'><edge equality='true'/></flexcomp>",
            "",
            "has no thickness",
        ),
        (
            cube() + "<geom type='box' size='0.1 0.1 0.1' surfacevel='1 0 0 0 0 0'/>",
            "",
            "running surface",
        ),
        (
            cube(),
            "<equality><weld body1='cube_0' body2='cube_5'/></equality>",
            "welds a vertex",
        ),
        (ROD, "<equality><connect body1='r_twist' anchor='0 0 0'/></equality>", "use joint"),
        (ROD, "<option viscosity='1e-3'/>", "a rod in a fluid"),
        (
            "<geom type='sphere' size='0.2' pos='0 0 0.1'/>" + cube(),
            "",
            "Flex 'cube' and Geom 0 intersect",
        ),
        (cube() + cube(name="other", side=0.03), "", "intersect"),
    ],
)
def test_what_midas_does_not_simulate(body: str, sections: str, message: str) -> None:
    with pytest.raises(asp.ModelError, match=message):
        asp.Simulator(compile_soft(body, sections=sections), integrator=asp.Midas())


def test_a_note_says_which_edges_have_no_springs() -> None:
    fin = (
        "<flexcomp name='fin' type='grid' dim='2' dof='2d' count='4 3 1' spacing='.02 .02 .02'"
        " radius='.001' mass='.1'><edge equality='true' damping='0.02'/></flexcomp>"
    )
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><body name='b'><joint/><geom size='0.1'/>{fin}</body></worldbody></mujoco>"
    )
    notes = asp.Simulator(model, integrator=asp.Icf()).load_report.notes
    assert any("ignore springs and dampers" in note for note in notes)
