"""Policy iteration (Howard, 1960) for discounts near 1, where value iteration needs too many sweeps.

A policy is improved with the values that a linear system gives it, a few times, whatever the discount. Near a
discount of 1 values are large and their differences small, so everything is computed from differences:

    Q(s, a) − V(s) = r(s, a) + γ Σ P(s'|s, a) (V(s') − V(s)) − (1 − γ + γ P(end|s, a)) V(s)

which has no large terms that cancel. The same expression, for the actions of the policy, is the error that is left
in its linear system, so that a few corrections of an approximate solution make it exact up to rounding.
"""

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monmdp.problem import Floats, Integers, MonMDP, Progress

if TYPE_CHECKING:
    from monmdp.world import World

#: Values are exact up to this, times the largest value; so is the comparison of two actions.
ROUNDING = 16 * np.finfo(np.float64).eps
#: Up to this many states, a system is factored at once; even factors without zeros take less than a second.
SMALL = 2_000
#: More states than this are never factored: the factors of a grid would need 300 MB, those of other problems more.
LARGE = 200_000
#: GMRES: the accuracy of a correction, and the iterations between restarts and in all. Chains that mix need 60.
GMRES_ACCURACY, GMRES_RESTART, GMRES_MOST = 1e-6, 50, 100
#: The largest number of corrections of a solution; each makes the error smaller by half or more, usually by 1e-6.
CORRECTIONS = 50
#: Seconds after which a wait looks for an interrupt.
INTERRUPTIBLE = 0.1

#: From the matrix of a linear system to a function from its right-hand side to an approximate solution, None if it
#: finds none.
Method = Callable[[Any], Callable[[Floats], Floats | None]]


class Model(NamedTuple):
    """Rows as in `kernels.bellman`, as a sparse matrix; by row, its state, reward and 1 − γ + γ P(end)."""

    matrix: Any
    state: Integers
    reward: Floats
    lost: Floats
    discount: float

    @classmethod
    def of(cls, problem: "MonMDP | World", reward: Floats) -> "Model":
        """The model of a problem, with one row per pair, and the reward of each."""
        from scipy.sparse import csr_array

        pair = np.repeat(np.arange(len(reward)), np.diff(problem.offsets))
        goes_on = ~problem.terminated & (problem.probability > 0)
        entries = problem.probability[goes_on], (pair[goes_on], problem.next_state[goes_on])
        ends = np.bincount(pair, np.where(problem.terminated, problem.probability, 0.0), len(reward))
        return cls(
            matrix=csr_array(entries, (len(reward), problem.n_states)),
            state=np.arange(len(reward)) // problem.n_actions,
            reward=reward,
            lost=np.asarray((1.0 - problem.discount) + problem.discount * ends, np.float64),
            discount=float(problem.discount),
        )

    def take(self, rows: Integers) -> "Model":
        """The model with some of the rows."""
        return Model(self.matrix[rows], self.state[rows], self.reward[rows], self.lost[rows], self.discount)

    def gains(self, values: Floats) -> Floats:
        """Q(row) − V(state of the row), for values V [S]."""
        row = np.repeat(np.arange(len(self.state)), np.diff(self.matrix.indptr))
        rise = self.matrix.data * (values[self.matrix.indices] - values[self.state[row]])
        rise = self.discount * np.bincount(row, rise, len(self.state))
        return np.asarray(self.reward + rise - self.lost * values[self.state])


def policy_iteration(problem: MonMDP, reward: Floats, q: Floats, progress: Progress | None = None) -> Floats | None:
    """Q* [S, A] for the reward of each pair, from the policy that is greedy on q [S, A]; None if a system is too large.

    Differences that are not larger than rounding are removed, so that ties stay ties. progress: called with the
    number of states whose action is settled, and of all.
    """
    model, methods = Model.of(problem, reward), methods_for(problem)
    first = np.arange(problem.n_states) * problem.n_actions
    choice, guess, before = q.argmax(1), q.max(1), np.full(problem.n_states, -np.inf)
    while (values := policy_values(model.take(first + choice), guess, methods)) is not None:
        gains = model.gains(values).reshape(q.shape)
        best, rounding = gains.max(1), ROUNDING * float(np.abs(values).max())
        better = best > rounding
        if progress is not None:
            progress(problem.n_states - int(better.sum()), problem.n_states)
        if not better.any() or np.all(values <= before + rounding):  # what raises no value is rounding
            return np.asarray(values[:, None] + np.where(gains >= best[:, None] - rounding, best[:, None], gains))
        choice = np.where(better, gains.argmax(1), choice)
        guess = before = values
    return None


def methods_for(problem: MonMDP) -> list[Method]:
    """The methods for the linear systems of a problem, in the order in which they are tried."""
    if problem.n_states <= SMALL:
        return [factored]
    return [gmres, factored] if problem.n_states <= LARGE else [gmres]


def policy_values(chain: Model, guess: Floats, methods: list[Method]) -> Floats | None:
    """The values [S] of a policy, a model with one row per state; None without a method that finds them.

    A method that fails is removed from `methods`, so that it is not tried for the next policy.
    """
    while methods:
        values = corrected(chain, guess, methods[0])
        if values is not None:
            return values
        del methods[0]
    return None


def corrected(chain: Model, values: Floats, method: Method) -> Floats | None:
    """The values [S] of a chain: corrected until the correction is rounding, None if that never happens."""
    from scipy.sparse import eye_array

    solver = method(eye_array(len(values)) - chain.discount * chain.matrix)
    last = np.inf
    for _ in range(CORRECTIONS):
        correction = solver(chain.gains(values))
        if correction is None:
            return None
        values = values + correction
        change = float(np.abs(correction).max())
        if change <= ROUNDING * float(np.abs(values).max()):
            return values
        if not change <= 0.5 * last:
            return None
        last = change
    return None


def factored(matrix: Any) -> Callable[[Floats], Floats | None]:
    """Sparse LU, in a thread of its own: unlike the factorisation, waiting for it can be interrupted."""
    from scipy.sparse.linalg import splu

    factors: list[Any] = []

    def factor() -> None:
        with contextlib.suppress(RuntimeError, MemoryError):  # a singular matrix, or factors that do not fit
            factors.append(splu(matrix.tocsc()))

    thread = threading.Thread(target=factor, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(INTERRUPTIBLE)  # without a limit, a signal that another thread receives would not be noticed
    return factors[0].solve if factors else lambda right: None


def gmres(matrix: Any) -> Callable[[Floats], Floats | None]:
    """Generalised minimal residuals, which need few iterations where states forget their past soon."""
    from scipy.sparse import linalg

    def solve(right: Floats) -> Floats | None:
        found, failed = linalg.gmres(
            matrix, right, rtol=GMRES_ACCURACY, restart=GMRES_RESTART, maxiter=GMRES_MOST // GMRES_RESTART
        )
        return None if failed else found

    return solve
