"""A small reward model for vectors, with the interface of scikit-learn's regressors."""

from typing import Any

import numpy as np

from monmdp import check


class NearestRewards:
    """Predicts a mean of remembered rewards, weighted by 1 / distance⁸; for features seen before, their own mean.

    Equal features share one entry, the mean of their rewards. Every feature is scaled to the range of its remembered
    values. capacity: the number of entries; when all are in use, a new one replaces the most similar one.
    """

    def __init__(self, capacity: int = 2_000) -> None:
        self.capacity = check.whole(capacity, 1, "The capacity")
        self._rows: dict[bytes, int] = {}
        self._low, self._high = np.inf, -np.inf

    def partial_fit(self, X: Any, y: Any) -> "NearestRewards":  # noqa: N803 (scikit-learn's name)
        """Remember rewards y [N] of features X [N, D]."""
        for features, reward in zip(np.asarray(X, np.float64) + 0.0, np.asarray(y, np.float64), strict=True):
            if not self._rows:
                shape = (self.capacity, len(features))
                self._features, self._scaled = np.empty(shape), np.empty(shape)
                self._means, self._counts, self._norms = np.zeros((3, self.capacity))
                self._least = self._most = features
                self._stale = True
            self._low, self._high = min(self._low, reward), max(self._high, reward)
            row = self._rows.get(key := features.tobytes())
            if row is None:
                if self._low == self._high and len(self._rows) == self.capacity:
                    continue  # nothing new
                row = self._rows[key] = self._free_row(features, reward)
                self._features[row], self._means[row], self._counts[row] = features, 0.0, 0.0
                self._scale(row)
            self._counts[row] += 1
            self._means[row] += (reward - self._means[row]) / self._counts[row]
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The predicted reward of every row of X [N, D], within the range of the observed rewards."""
        vectors = np.asarray(X, np.float64) + 0.0
        if self._low == self._high:
            return np.full(len(vectors), self._low)
        rows = [self._rows.get(features.tobytes(), -1) for features in vectors]
        predicted = self._means[rows]
        unknown = [i for i, row in enumerate(rows) if row < 0]
        if unknown:
            weights = np.square(np.square(1.0 / self._distances(vectors[unknown])))
            predicted[unknown] = weights @ self._means[: len(self._rows)] / weights.sum(1)
        return np.minimum(np.maximum(predicted, self._low), self._high)  # faster than clip

    def _free_row(self, features: np.ndarray, reward: float) -> int:
        """An unused row or that of the entry with the most similar features and reward, so that rare ones are kept."""
        if len(self._rows) < self.capacity:
            return len(self._rows)
        difference = (self._means - reward) / (self._high - self._low)
        row = int((self._distances(features[None])[0] + difference * difference).argmin())
        del self._rows[self._features[row].tobytes()]
        return row

    def _scale(self, row: int) -> None:
        """Scale a new entry; one outside the ranges changes them, and the scale of all entries at their next use."""
        features = self._features[row]
        if (features < self._least).any() or (features > self._most).any():
            self._least, self._most = np.minimum(self._least, features), np.maximum(self._most, features)
            self._stale = True
        elif not self._stale:
            self._scaled[row] = (features - self._least) / self._width
            self._norms[row] = self._scaled[row] @ self._scaled[row]

    def _distances(self, vectors: np.ndarray) -> np.ndarray:
        """Squared distances [N, entries], at least 1e-12."""
        n = len(self._rows)
        if self._stale:
            self._width = np.where(self._most > self._least, self._most - self._least, 1.0)
            self._scaled[:n] = (self._features[:n] - self._least) / self._width
            self._norms[:n] = np.einsum("ij,ij->i", self._scaled[:n], self._scaled[:n])
            self._stale = False
        scaled = (vectors - self._least) / self._width
        squared: np.ndarray = (-2.0 * scaled) @ self._scaled[:n].T
        squared += self._norms[:n]
        squared += np.einsum("ij,ij->i", scaled, scaled)[:, None]
        np.maximum(squared, 1e-12, out=squared)
        return squared
