"""Every public integrator, with most of their schemes, and a scene that all of them simulate."""

from __future__ import annotations

import asperity as asp

# Contact and sliding, a joint limit, and an equality, which engines may be tempted to switch off
# in the model while they do what it is for.
SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.101"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
    <body pos="0.6 0 0.5">
      <joint name="a" axis="0 1 0" damping="0.1" range="-30 30" limited="true"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.3"/>
    </body>
    <body pos="1.6 0 0.5">
      <joint name="b" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.3"/>
    </body>
  </worldbody>
  <equality><joint joint1="a" joint2="b"/></equality>
</mujoco>
"""

INTEGRATORS = {
    "Cenic": asp.Cenic(),
    "Cenic, trapezoid": asp.Cenic(error_estimate="trapezoid"),
    "Icf": asp.Icf(time_step=2e-3),
    "Icf, similar": asp.Icf(time_step=2e-3, friction_bound="similar"),
    **{
        f"Sap, {scheme}": asp.Sap(time_step=2e-3, theta_scheme=scheme)
        for scheme in ("symplectic-euler", "implicit-euler", "explicit-euler", "midpoint")
    },
    "Sap, controlled": asp.Sap(accuracy=1e-3, theta_scheme="midpoint"),
    "Tamsi": asp.Tamsi(time_step=1e-3),
    "Tamsi, controlled": asp.Tamsi(accuracy=1e-3),
    "ImplicitEuler": asp.ImplicitEuler(time_step=1e-3),
    "RungeKutta3": asp.RungeKutta3(),
    "Sdirk2": asp.Sdirk2(time_step=1e-3),
    "Rosenbrock2": asp.Rosenbrock2(time_step=1e-3),
    "Midas": asp.Midas(time_step=5e-3),
}
