"""A USB-A stick and its port, as solids of straight walls.

The sizes are those of the USB 2.0 specification (6.5.3 and 6.5.4). The plug's shell is 12.00 × 4.50
mm and at least 11.75 mm long. The receptacle's opening is 12.50 × 5.12 mm, and its tongue 11.10 ×
1.84 mm and 8.38 mm long. The plug's wall of 0.30 mm and its opening of 1.95 mm above the insulator
are the usual ones. Radii, springs, windows and contacts are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from asperity.scenes.solids import Solid, union_of_boxes

__all__ = ["Fit", "plug", "port"]


@dataclass(frozen=True)
class Fit:
    """Sizes of stick and port [m]: width (x), height (y), length (z); the plug points to −z.

    Parameters
    ----------
    shell : tuple of float
        Outer width and height of the plug's shell.
    shell_length, wall : float
        Of the shell.
    slot : float
        Height of the plug's opening above its insulator.
    opening : tuple of float
        Width and height of the port.
    tongue : tuple of float
        Width, height and length of the tongue in the port.
    depth : float
        Of the port.
    handle : tuple of float
        Width, height and length of the stick behind the plug.
    """

    shell: tuple[float, float] = (12.0e-3, 4.5e-3)
    shell_length: float = 11.75e-3
    wall: float = 0.3e-3
    slot: float = 1.95e-3
    opening: tuple[float, float] = (12.5e-3, 5.12e-3)
    tongue: tuple[float, float, float] = (11.1e-3, 1.84e-3, 8.38e-3)
    depth: float = 12.0e-3
    handle: tuple[float, float, float] = (16.0e-3, 8.0e-3, 20.0e-3)

    @classmethod
    def close(cls, gap: float) -> Fit:
        """Return a fit whose port leaves this gap [m] on every side of shell and tongue."""
        plain = cls()
        width, height = plain.shell
        tongue = (width - 2.0 * plain.wall - 2.0 * gap, plain.slot - 2.0 * gap, plain.tongue[2])
        return cls(opening=(width + 2.0 * gap, height + 2.0 * gap), tongue=tongue)

    @property
    def tightest(self) -> tuple[float, float]:
        """Smallest gap on one side along x and y [m]."""
        inner = self.shell[0] - 2.0 * self.wall
        x = min(self.opening[0] - self.shell[0], inner - self.tongue[0])
        y = min(self.opening[1] - self.shell[1], self.slot - self.tongue[1])
        return 0.5 * x, 0.5 * y


def plug(fit: Fit) -> Solid:
    """The stick, with the tip of its plug at z = 0: a shell, open at the tip and half filled."""
    x, y = 0.5 * fit.shell[0], 0.5 * fit.shell[1]
    wall, length = fit.wall, fit.shell_length
    handle = (0.5 * fit.handle[0], 0.5 * fit.handle[1], length + fit.handle[2])
    slot = y - wall - fit.slot
    return union_of_boxes(
        "stick",
        [
            (-x, -y, 0.0, x, -y + wall, length),
            (-x, y - wall, 0.0, x, y, length),
            (-x, -y + wall, 0.0, -x + wall, y - wall, length),
            (x - wall, -y + wall, 0.0, x, y - wall, length),
            (-x + wall, -y + wall, 0.0, x - wall, slot, length),
            (-handle[0], -handle[1], length, handle[0], handle[1], handle[2]),
        ],
    )


def port(fit: Fit, wall: float = 1.5e-3) -> Solid:
    """The port, open at z = ``fit.depth``, with a tongue where the plug's opening is."""
    x, y = 0.5 * fit.opening[0], 0.5 * fit.opening[1]
    out_x, out_y, depth = x + wall, y + wall, fit.depth
    width, height, length = 0.5 * fit.tongue[0], fit.tongue[1], fit.tongue[2]
    low = 0.5 * fit.shell[1] - fit.wall - fit.slot + 0.5 * (fit.slot - height)
    return union_of_boxes(
        "port",
        [
            (-out_x, -out_y, -wall, out_x, out_y, 0.0),
            (-out_x, -out_y, 0.0, out_x, -y, depth),
            (-out_x, y, 0.0, out_x, out_y, depth),
            (-out_x, -y, 0.0, -x, y, depth),
            (x, -y, 0.0, out_x, y, depth),
            (-width, low, 0.0, width, low + height, length),
        ],
    )
