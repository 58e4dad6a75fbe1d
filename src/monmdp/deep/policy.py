"""A trained agent that acts: its network of action values, without the problem and without JAX.

Q(o, a) = Σ_k softmax(z)_ak b_k,  z = network((o − p̄) / v, monitor state as a unit vector)

Bins b_k: `heads`; network: `networks`; mean p̄ and spread v of observations: `codes`. Several heads of Q: their mean,
plus the mean of their priors (`ensemble`), which is a network too.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.files import write_atomically
from monmdp.problem import Floats, Integers

#: What the files say about themselves.
FORMAT = "monmdp policy 1"
#: Arrays of a hidden layer and of the last one.
HIDDEN, LAST = ("weights", "bias", "gain", "shift"), ("weights", "bias")


@dataclass(frozen=True, eq=False)
class Policy:
    """The greedy policy of a trained agent with networks.

    `policy(observation, monitor_state)` is the index of a joint action, and `policy.actions` has its name. shape: that
    of an observation. monitor_states: their names. mean, factor, bins, layers: the network and the scale of its input;
    prior: the network that is added to its values, if there is one.
    """

    agent: str
    problem: str
    seed: int
    shape: tuple[int, ...]
    monitor_states: tuple[str, ...]
    actions: tuple[str, ...]
    mean: np.ndarray
    factor: np.ndarray
    bins: np.ndarray
    layers: tuple[dict[str, np.ndarray], ...]
    prior: tuple[dict[str, np.ndarray], ...] = ()

    def __repr__(self) -> str:
        return f"Policy({self.agent} in {self.problem}, seed {self.seed}, observations of shape {self.shape})"

    def __call__(self, observation: Any, monitor_state: int = 0) -> int:
        """The best joint action for an observation of the environment and the index of a monitor state."""
        return int(self.q(np.asarray(observation)[None], [monitor_state])[0].argmax())

    def q(self, observations: Any, monitor_states: Any) -> Floats:
        """Action values [n, A] of observations [n, *shape], or flat ones, and indices of monitor states [n]."""
        pictures = check.numbers(observations, "Observations")
        if pictures.shape[1:] not in (self.shape, (prod(self.shape),)):
            raise MonMDPError(
                f"This policy takes observations of shape {self.shape}, or {prod(self.shape)} numbers, not of shape "
                f"{pictures.shape[1:]}."
            )
        if not np.all(np.isfinite(pictures)):
            raise MonMDPError("An observation has a number that is NaN or infinite.")
        states = self._indices(monitor_states, len(pictures))
        scaled = (pictures.reshape(len(pictures), -1) - self.mean) * self.factor
        values = np.concatenate([scaled, np.eye(len(self.monitor_states))[states]], 1)
        logits = _outputs(self.layers, values).reshape(len(pictures), -1, len(self.actions), len(self.bins))
        weights = np.exp(logits - logits.max(3, keepdims=True))
        q: Floats = ((weights * self.bins).sum(3) / weights.sum(3)).mean(1)
        return q + _outputs(self.prior, values) if self.prior else q

    def _indices(self, given: Any, n: int) -> Integers:
        """Indices of monitor states [n], checked."""
        states, most = np.asarray(given), len(self.monitor_states) - 1
        if states.shape != (n,) or states.dtype.kind not in "iu" or np.any((states < 0) | (states > most)):
            raise MonMDPError(f"Every observation needs a monitor state, a whole number from 0 to {most}.")
        return states

    def save(self, path: Path | str) -> None:
        """Write a file .npz, which `monmdp.load_policy` reads."""
        path = check.path(path, "The file of a policy")
        if path.suffix != ".npz":
            raise MonMDPError(f"A policy is saved as .npz, not {path.suffix!r}.")
        names = ("agent", "problem", "seed", "shape", "monitor_states", "actions")
        about = {"format": FORMAT, "layers": len(self.layers), "prior": len(self.prior)}
        about |= {name: getattr(self, name) for name in names}
        arrays = _named(self.layers) | _named(self.prior, "prior_")
        sink = io.BytesIO()
        scale: dict[str, Any] = {"mean": self.mean, "factor": self.factor, "bins": self.bins}
        np.savez_compressed(sink, allow_pickle=False, about=json.dumps(about), **scale, **arrays)
        write_atomically(path, sink.getvalue())


def _outputs(layers: tuple[dict[str, np.ndarray], ...], values: np.ndarray) -> np.ndarray:
    """Outputs [n, outputs] of a network (`networks`) for inputs [n, inputs]."""
    for layer in layers[:-1]:
        z = values @ layer["weights"] + layer["bias"]
        z = (z - z.mean(1, keepdims=True)) / np.sqrt(z.var(1, keepdims=True) + 1e-5)
        values = np.maximum(layer["gain"] * z + layer["shift"], 0.0)
    outputs: np.ndarray = values @ layers[-1]["weights"] + layers[-1]["bias"]
    return outputs


def _named(layers: tuple[dict[str, np.ndarray], ...], prefix: str = "") -> dict[str, Any]:
    """The arrays of layers by the names that they have in a file."""
    return {f"{prefix}{name}_{i}": array for i, layer in enumerate(layers) for name, array in layer.items()}


def load_policy(path: Path | str) -> Policy:
    """Read a policy that `Policy.save` wrote. The file is checked, and no code in it is run."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as content:
            arrays = dict(content)
        about = json.loads(str(arrays.pop("about")))
        if about.pop("format") != FORMAT:
            raise ValueError(f"it does not say {FORMAT!r}")
        shape = tuple(about.pop("shape"))
        layers, prior = (
            tuple(
                {name: arrays.pop(f"{prefix}{name}_{i}") for name in (LAST if i == n - 1 else HIDDEN)} for i in range(n)
            )
            for prefix, n in (("", about.pop("layers")), ("prior_", about.pop("prior", 0)))
        )
        labels: dict[str, Any] = {name: tuple(map(str, about.pop(name))) for name in ("monitor_states", "actions")}
        policy = Policy(**about, **labels, **arrays, shape=shape, layers=layers, prior=prior)
        _check(policy)
    except FileNotFoundError:
        raise MonMDPError(f"There is no file {path}.") from None
    except MemoryError:
        raise
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise MonMDPError(f"{path} is not a file of a policy: {reason}.") from None
    return policy


def _check(policy: Policy) -> None:
    """Raise an error unless all arrays are finite numbers, and fit each other."""
    check.whole(len(policy.layers), 1, "The number of layers")
    size = prod(check.whole(length, 1, "A length of the shape") for length in policy.shape)
    shapes: dict[str, tuple[int | None, ...]] = {
        "mean": (size,),
        "factor": policy.factor.shape and (size,),  # one number, or one per number of an observation
        "bins": (None,),
    }
    arrays, n_actions = {name: getattr(policy, name) for name in shapes}, len(policy.actions)
    n_values = n_actions * len(policy.bins)
    n_values *= max(len(policy.layers[-1]["bias"]) // n_values, 1)  # heads
    for prefix, layers, last in (("", policy.layers, n_values), ("prior_", policy.prior, n_actions)):
        inputs = size + len(policy.monitor_states)
        for i, layer in enumerate(layers):
            outputs = last if i == len(layers) - 1 else len(layer["bias"])
            shapes |= {f"{prefix}{name}_{i}": (inputs, outputs) if name == "weights" else (outputs,) for name in layer}
            inputs = outputs
        arrays |= _named(layers, prefix)
    for name, array in arrays.items():
        fits = array.ndim == len(shapes[name]) and all(
            wanted in (None, length) for length, wanted in zip(array.shape, shapes[name], strict=True)
        )
        if not fits or array.dtype.kind != "f" or not np.all(np.isfinite(array)):
            raise ValueError(f"unexpected values or shape of {name!r}")
