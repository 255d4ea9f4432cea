"""Colours of geoms where a viewer has no textures."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "base_color",
    "checker_tiles",
    "geom_color",
    "site_color",
    "tendon_color",
    "two_dimensional_texture",
]

Floats = NDArray[np.float64]
# More tiles than these on a side are noise, and a heavy mesh.
MOST_TILES = 80


def base_color(model: mujoco.MjModel, geom: int) -> Floats:
    """Colour and opacity of a geom without its texture, shape (4,), each from 0 to 1."""
    return _base_color(model, model.geom_rgba[geom], int(model.geom_matid[geom]))


def geom_color(model: mujoco.MjModel, geom: int) -> Floats:
    """Colour and opacity of a geom, shape (4,), each from 0 to 1; textures are averaged."""
    return _mean_color(model, model.geom_rgba[geom], int(model.geom_matid[geom]))


def site_color(model: mujoco.MjModel, site: int) -> Floats:
    """Colour and opacity of a site, shape (4,), as `geom_color`."""
    return _mean_color(model, model.site_rgba[site], int(model.site_matid[site]))


def tendon_color(model: mujoco.MjModel, tendon: int) -> Floats:
    """Colour and opacity of a tendon, shape (4,), as `geom_color`."""
    return _mean_color(model, model.tendon_rgba[tendon], int(model.tendon_matid[tendon]))


def _base_color(model: mujoco.MjModel, own: NDArray[np.float32], material: int) -> Floats:
    color = np.array(own, dtype=np.float64)
    # As in MuJoCo, an object's own colour wins over the material's if it was set.
    if material >= 0 and np.allclose(color, (0.5, 0.5, 0.5, 1.0)):
        color = np.array(model.mat_rgba[material], dtype=np.float64)
    return np.clip(color, 0.0, 1.0)


def _mean_color(model: mujoco.MjModel, own: NDArray[np.float32], material: int) -> Floats:
    color = _base_color(model, own, material)
    texture = _texture(model, material) if material >= 0 else None
    if texture is not None:
        color[:3] *= texture.mean(axis=(0, 1))
    return color


def checker_tiles(
    model: mujoco.MjModel, geom: int, half: Floats
) -> tuple[tuple[int, int], Floats, Floats] | None:
    """Tiling of a plane whose texture is a checkerboard.

    Parameters
    ----------
    half : ndarray, shape (2,)
        Half sizes of the displayed rectangle [m].

    Returns
    -------
    tuple or None
        Number of tiles in x and y and the two colours, shape (3,); None without such a texture.
    """
    material = int(model.geom_matid[geom])
    texture = _texture(model, material) if material >= 0 else None
    if texture is None:
        return None
    height, width = texture.shape[:2]
    quarter = [
        texture[height // 4 + i, width // 4 + j] for i in (0, height // 2) for j in (0, width // 2)
    ]
    a, b, c, d = quarter
    if np.abs(a - d).max() > 0.02 or np.abs(b - c).max() > 0.02 or np.abs(a - b).max() < 0.02:
        return None
    repeat = np.array(model.mat_texrepeat[material], dtype=np.float64)
    period = 1.0 / np.maximum(repeat, 1e-6)
    if not model.mat_texuniform[material]:
        size = np.array(model.geom_size[geom][:2])
        period *= np.where(size > 0.0, 2.0 * size, 1.0)
    tiles = np.maximum(1, np.round(2.0 * half / (0.5 * period)))
    tiles = np.minimum(tiles, MOST_TILES).astype(int)
    tint = np.array(model.mat_rgba[material][:3], dtype=np.float64)
    return (int(tiles[0]), int(tiles[1])), np.clip(a * tint, 0, 1), np.clip(b * tint, 0, 1)


def two_dimensional_texture(model: mujoco.MjModel, material: int) -> Floats | None:
    """The image of a material, shape (height, width, 3), from 0 to 1; None for cubes and none."""
    index = int(model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB])
    if index < 0 or model.tex_type[index] != mujoco.mjtTexture.mjTEXTURE_2D:
        return None
    return _texture(model, material)


def _texture(model: mujoco.MjModel, material: int) -> Floats | None:
    """Colours of a material's two-dimensional texture, shape (height, width, 3), or None."""
    index = int(model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB])
    if index < 0:
        return None
    height, width = int(model.tex_height[index]), int(model.tex_width[index])
    channels = int(model.tex_nchannel[index])
    if channels < 3:
        return None
    first = int(model.tex_adr[index])
    data = model.tex_data[first : first + height * width * channels]
    return data.reshape(height, width, channels)[..., :3].astype(np.float64) / 255.0
