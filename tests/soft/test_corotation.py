"""Rotations of elements against the singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from asperity.compiled import Table
from asperity.soft.corotation import element_rotation
from asperity.soft.layout import ELASTIC

_MADE = 500


def _rotations(gradients: np.ndarray) -> np.ndarray:
    """R of a tetrahedron with each of these mean gradients, shape (n, 3, 3)."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    weights = np.ascontiguousarray(np.linalg.pinv(corners - corners.mean(axis=0)).T)
    elastic = Table(
        ELASTIC,
        element_first=np.array([0, 4]),
        place_particle=np.arange(4),
        place_gradient=weights,
    )
    found = np.zeros((len(gradients), 3, 3))
    work = np.zeros((3, 12))
    for gradient, out in zip(gradients, found, strict=True):
        element_rotation(elastic, corners @ gradient.T, 0, work)
        out[:] = work[1, :9].reshape(3, 3)
    return found


def _nearest(gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rotations, and how far they are from being others: σ_2 ± σ_3 over σ_1."""
    u, sizes, v = np.linalg.svd(gradients)
    sign = np.sign(np.linalg.det(u @ v))
    u[:, :, 2] *= sign[:, None]
    return u @ v, (sizes[:, 1] + sign * sizes[:, 2]) / sizes[:, 0]


@pytest.mark.parametrize("strain", [1e-6, 0.05, 0.5, np.inf])
def test_rotation_is_the_nearest_one(strain: float) -> None:
    rng = np.random.default_rng(0)
    stretch = rng.standard_normal((_MADE, 3, 3))
    if np.isfinite(strain):
        stretch = np.eye(3) + strain * stretch
    turn = _nearest(rng.standard_normal((_MADE, 3, 3)))[0]
    gradients = turn @ stretch
    gradients[np.linalg.det(gradients) < 0.0, 0] *= -1.0
    expected, apart = _nearest(gradients)
    found = _rotations(gradients)
    clear = apart > 0.1
    assert np.sum(clear) > 0.5 * _MADE
    assert np.abs(found - expected)[clear].max() < 1e-12


def test_elements_inside_out_have_a_rotation() -> None:
    """What a method of hill climbing finds: R is a rotation, and near to F where it is clear."""
    rng = np.random.default_rng(1)
    gradients = rng.standard_normal((_MADE, 3, 3))
    gradients[np.linalg.det(gradients) > 0.0, 0] *= -1.0
    expected, apart = _nearest(gradients)
    found = _rotations(gradients)
    assert np.abs(found @ found.transpose(0, 2, 1) - np.eye(3)).max() < 1e-12
    clear = apart > 0.3
    missed = np.abs(found - expected)[clear].max(axis=(1, 2)) > 1e-9
    assert np.mean(missed) < 0.02
