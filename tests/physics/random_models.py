"""Random models with many features at once, that a test of each by itself would not combine."""

from __future__ import annotations

import numpy as np

__all__ = ["random_model"]

_SHAPES = ("sphere", "capsule", "box", "cylinder", "ellipsoid")


class _Maker:
    """Makes one model."""

    def __init__(self, seed: int, contact: bool) -> None:
        self.random = np.random.default_rng(seed)
        self.contact = contact
        self.hinges: list[str] = []
        self.joints: list[str] = []
        self.sites: list[str] = []

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def numbers(self, count: int, scale: float = 1.0) -> str:
        return " ".join(f"{scale * x:.5g}" for x in self.random.normal(size=count))

    def option(self, share: float, name: str, low: float, high: float) -> str:
        if not self.chance(share):
            return ""
        return f' {name}="{self.random.uniform(low, high):.4g}"'

    def joint(self, kind: str) -> str:
        name = f"j{len(self.joints)}"
        self.joints.append(name)
        text = f'<joint name="{name}" type="{kind}"'
        if kind != "ball":
            self.hinges.append(name)
            text += f' axis="{self.numbers(3)}"' + self.option(0.3, "ref", -0.3, 0.3)
            text += self.option(0.3, "springref", -0.3, 0.3)
        if kind != "slide" and self.chance(0.5):
            text += f' pos="{self.numbers(3, 0.05)}"'
        text += self.option(0.4, "stiffness", 0.5, 20) + self.option(0.4, "damping", 0.01, 0.5)
        text += self.option(0.4, "armature", 0.001, 0.1)
        if self.contact and kind != "ball":
            text += self.option(0.3, "frictionloss", 0.01, 0.5)
            text += ' range="-20 20"' if self.chance(0.4) else ""
        return text + "/>"

    def geom(self) -> str:
        shape = self.random.choice(_SHAPES)
        size = " ".join(f"{x:.4g}" for x in self.random.uniform(0.02, 0.07, 3))
        text = f'<geom type="{shape}" size="{size}" pos="{self.numbers(3, 0.03)}"'
        text += f' quat="{self.numbers(4)}" density="{self.random.uniform(300, 3000):.4g}"'
        if not self.contact:
            return text + ' contype="0" conaffinity="0"/>'
        friction = f"{self.random.uniform(0, 1):.3g} {self.random.uniform(0, 0.01):.3g} 0"
        return text + f' friction="{friction}" condim="{self.random.choice([1, 3, 3, 4])}"/>'

    def body(self, depth: int, place: str, first: bool) -> str:
        text = f'<body pos="{place}" quat="{self.numbers(4)}"'
        text += self.option(0.2, "gravcomp", 0.0, 1.0) + ">"
        kind = self.random.random()
        if first and kind < 0.4:
            text += "<freejoint/>"
        elif kind < 0.6:
            text += self.joint("ball")
        elif kind < 0.95 or first:
            for _ in range(self.random.choice([1, 1, 2, 3])):
                text += self.joint(self.random.choice(["hinge", "hinge", "slide"]))
        text += self.geom()
        name = f"s{len(self.sites)}"
        self.sites.append(name)
        text += f'<site name="{name}" pos="{self.numbers(3, 0.06)}" quat="{self.numbers(4)}"/>'
        if depth > 0:
            for _ in range(self.random.choice([0, 1, 1, 2])):
                text += self.body(depth - 1, self.numbers(3, 0.12), False)
        return text + "</body>"

    def tendon(self, number: int) -> str:
        """Armature acts on one chain only: of several MuJoCo's inertia leaves out what couples."""
        text = f' name="t{number}"' + self.option(0.5, "stiffness", 1, 30)
        text += self.option(0.4, "damping", 0.01, 0.5) + self.option(0.5, "armature", 0.001, 0.05)
        if self.hinges and self.chance(0.5):
            joint = self.random.choice(self.hinges)
            return f'<fixed{text}><joint joint="{joint}" coef="0.7"/></fixed>'
        site = self.random.choice(self.sites)
        return f'<spatial{text}><site site="hook"/><site site="{site}"/></spatial>'

    def actuator(self, tendons: int) -> str:
        kind = self.random.random()
        site = f'site="{self.random.choice(self.sites)}" gear="{self.numbers(6)}"'
        target = site
        if kind < 0.6 and self.hinges:
            target = f'joint="{self.random.choice(self.hinges)}"'
        elif kind < 0.8 and tendons > 0:
            target = f'tendon="t{self.random.integers(tendons)}"'
        return str(
            self.random.choice(
                [
                    f"<motor {target}/>",
                    f'<position {target} kp="12" kv="0.4"/>',
                    f'<velocity {target} kv="0.5"/>',
                    f'<intvelocity {target} kp="9" actrange="-1 1"/>',
                    f'<general {target} dyntype="filter" dynprm="0.05" gainprm="2"/>',
                ]
            )
        )

    def model(self) -> str:
        bodies = ""
        for i in range(self.random.choice([1, 2, 3])):
            place = f"{0.5 * i} 0 {self.random.uniform(0.3, 0.8):.4g}"
            bodies += self.body(int(self.random.choice([0, 1, 2, 3])), place, True)
        if self.contact:
            bodies += '<geom type="plane" size="5 5 1"/>'
        count = int(self.random.choice([0, 1, 2]))
        tendons = "".join(self.tendon(i) for i in range(count))
        actuators = "".join(self.actuator(count) for _ in range(self.random.choice([0, 1, 2])))
        option = "" if self.contact else f"<option{self.option(0.3, 'density', 1, 50)}/>"
        return (
            f'<mujoco><compiler autolimits="true"/>{option}<worldbody><site name="hook" '
            f'pos="0.3 -0.4 0.9"/>{bodies}</worldbody><tendon>{tendons}</tendon>'
            f"<actuator>{actuators}</actuator></mujoco>"
        )


def random_model(seed: int, *, contact: bool) -> str:
    """A model of one to three trees with tendons and actuators, as MJCF.

    With contact it has limits and dry friction, too.
    """
    return _Maker(seed, contact).model()
