"""The reduced Hessian of Midas as a full matrix."""

from __future__ import annotations

import numpy as np

__all__ = ["full_hessian", "upper_triangle", "variables_of"]


def variables_of(factor, links) -> np.ndarray:
    """Variables of some links, link by link."""
    every = [factor.tree_start[k] + np.arange(factor.tree_size[k]) for k in links]
    return np.concatenate([np.zeros(0, np.int64), *every])


def upper_triangle(factor) -> np.ndarray:
    """What is in the panels, over the variables in the order of elimination."""
    panels = factor.panels
    place = np.empty(len(factor.variable_link), np.int64)
    place[variables_of(factor, factor.order)] = np.arange(len(place))
    upper = np.zeros((len(place), len(place)))
    for panel in range(panels.count):
        own = factor.order[panels.first[panel] : panels.last[panel]]
        begin = factor.column_start[own[-1]]
        later = factor.entry_tree[begin : begin + factor.column_size[own[-1]]]
        columns = place[variables_of(factor, (*own, *later))]
        height, width, stride = (a[panel] for a in (panels.width, panels.length, panels.stride))
        rows = factor.values[panels.at[panel] :][: height * stride].reshape(height, stride)
        # Below the diagonal numbers are void.
        upper[np.ix_(columns[:height], columns)] = np.triu(rows[:, :width])
    return upper


def full_hessian(factor) -> np.ndarray:
    """What is in the factor before it is factorized, over the variables."""
    upper = upper_triangle(factor)
    order = variables_of(factor, factor.order)
    full = np.empty_like(upper)
    full[np.ix_(order, order)] = upper + np.triu(upper, 1).T
    return full
