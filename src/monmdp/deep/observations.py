"""Observation functions: what an agent sees in place of the environment's state.

o = f(s_E) + σ ξ, with ξ standard normal in every number and σ = 0 except for noisy pixels. The monitor's state and all
actions are finite and visible; they are not part of f.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from monmdp import check
from monmdp.errors import MonMDPError, nearest, shown
from monmdp.problem import Integers, Layout, MonMDP
from monmdp.render.image import draw_grid

#: Longest side of a picture in pixels, if the grid is not larger; colour of the agent; σ of noisy pixels.
PICTURE, AGENT, NOISE = 16, (0.14, 0.41, 0.77), 0.05

Singles = npt.NDArray[np.float32]


class Observations(NamedTuple):
    """Flat observations [environment states, numbers], the noise's standard deviation, and the shape of one of them."""

    table: Singles
    noise: float
    shape: tuple[int, ...]


def pixels(problem: MonMDP) -> np.ndarray:
    """A small picture per state, [states, height, width, 3] from -1 to 1: tiles, buttons, and the agent's cell in blue.

    Of a map with parts, it is the agent's. States without positions are drawn as a row of white cells.
    """
    given, n_states = problem.environment.layout, len(problem.environment.states)
    layout = given or Layout(("." * n_states,), tuple((0, state) for state in range(n_states)))
    cell = max(1, PICTURE // max(layout.rows, layout.part or layout.columns))
    empty = np.ones((layout.rows * cell, layout.columns * cell, 3))
    if given is not None:
        from PIL import Image

        small = draw_grid(problem).resize((layout.columns * cell, layout.rows * cell), Image.Resampling.BOX)
        empty = np.asarray(small) / 255.0
    pictures = []
    for state, (row, column) in enumerate(layout.cells):
        picture, shown = empty.copy(), layout.shown(state)
        picture[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell] = AGENT
        pictures.append(picture[:, shown.start * cell : shown.stop * cell])
    return 2.0 * np.stack(pictures) - 1.0


def one_hot(problem: MonMDP) -> np.ndarray:
    """The index of the state as a unit vector."""
    return np.eye(len(problem.environment.states))


def coordinates(problem: MonMDP) -> np.ndarray:
    """Row and column of the agent, from -1 to 1; without positions, the index of the state."""
    layout, n_states = problem.environment.layout, len(problem.environment.states)
    places = np.arange(n_states)[:, None] if layout is None else np.array(layout.cells)
    scaled: np.ndarray = 2.0 * places / np.maximum(places.max(0), 1) - 1.0
    return scaled


OBSERVATIONS: dict[str, Callable[[MonMDP], np.ndarray]] = {
    "pixels": pixels,
    "one-hot": one_hot,
    "coordinates": coordinates,
    "noisy pixels": pixels,
}


def observations(problem: MonMDP, observe: Any) -> Observations:
    """The observations of all environment states by a name or by a function (problem, state) → array, checked."""
    if isinstance(observe, str):
        if observe not in OBSERVATIONS:
            raise MonMDPError(f"There is no observation called {shown(observe)}. {nearest(observe, OBSERVATIONS)}")
        given = list(OBSERVATIONS[observe](problem))
    elif callable(observe):
        with check.user_code(observe):
            given = [observe(problem, state) for state in range(len(problem.environment.states))]
    else:
        names = ", ".join(OBSERVATIONS)
        raise MonMDPError(f"observe must be one of {names}, or a function (problem, state) → array, not {observe!r}.")
    rows = [_numbers(problem, state, value) for state, value in enumerate(given)]
    for state, row in enumerate(rows):
        if row.shape != rows[0].shape:
            raise MonMDPError(
                f"All observations must have one shape, but that of state {problem.environment.state_label(state)} has "
                f"{row.shape}, and that of {problem.environment.state_label(0)} {rows[0].shape}."
            )
    table = np.stack(rows).reshape(len(rows), -1)
    if table.shape[1] == 0:
        raise MonMDPError("An observation must have at least one number.")
    return Observations(table, NOISE if observe == "noisy pixels" else 0.0, rows[0].shape)


class Inputs(NamedTuple):
    """What networks take in place of observations: numbers that always change together are one input.

    The numbers k of an input j are o_k = first_k + share_k z_j, with Σ share_k² = 1, so distances stay as they are. One
    weight w_j = Σ share_k w_k stands for theirs, and Adam moves it Σ |share_k| times as fast as one of them: all
    gradients are multiples of one, and Adam takes steps of the same size.
    table [rows, inputs]: z; rates [inputs]: Σ |share_k|; group, share and first [numbers]; share is 0 for numbers that
    never change.
    """

    table: Singles
    rates: Singles
    group: Integers
    share: Singles
    first: Singles


def inputs_of(observations: Observations) -> Inputs:
    """The inputs of networks for a table of observations; all numbers if there is noise, or no table yet."""
    table, n_numbers = observations.table, observations.table.shape[1]
    if observations.noise or not len(table):
        ones = np.ones(n_numbers, np.float32)
        return Inputs(table, ones, np.arange(n_numbers), ones, 0.0 * ones)
    change = table.astype(np.float64) - table[0]
    varying = np.flatnonzero(change.any(0))
    own, group, share = change[:, varying], np.zeros(n_numbers, np.int64), np.zeros(n_numbers)
    scale = own[(own != 0.0).argmax(0), np.arange(len(varying))]
    patterns = [column.tobytes() for column in np.round(own / scale, 6).T + 0.0]
    index = {pattern: j for j, pattern in enumerate(dict.fromkeys(patterns))}
    group[varying] = [index[pattern] for pattern in patterns]
    norm = np.sqrt(np.bincount(group[varying], scale**2, max(len(index), 1)))
    share[varying] = scale / norm[group[varying]]
    inputs = np.zeros((len(norm), len(table)))
    np.add.at(inputs, group, (change * share).T)
    single = partial(np.asarray, dtype=np.float32)
    rates = np.bincount(group, np.abs(share), len(norm))
    return Inputs(single(inputs.T), single(rates), group, single(share), table[0])


def picture_numbers(table: Singles) -> np.ndarray:
    """The number of the picture in each row [rows], from 0 on; rows with equal pictures have equal numbers."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in table + 0.0], np.int64)  # −0 is 0


def _numbers(problem: MonMDP, state: int, value: Any) -> Singles:
    """One observation as numbers, all finite."""
    where = f"The observation of state {problem.environment.state_label(state)}"
    try:
        row = np.asarray(value, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise MonMDPError(f"{where} must be an array of numbers, not {shown(value)}.") from None
    if not np.all(np.isfinite(row)):
        raise MonMDPError(f"{where} has a number that is NaN or infinite.")
    return row
