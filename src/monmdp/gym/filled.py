"""Hidden rewards filled in by a model of the observed ones: `fill_rewards`, a wrapper for learners of any library."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space, iterate

from monmdp import check
from monmdp.errors import MonMDPError, shown
from monmdp.gym.nearest import NearestRewards
from monmdp.gym.shapes import as_vectors
from monmdp.gym.single import HIDDEN

Features = Callable[[Any, Any, Any], Any]
#: Steps without an answer whose features are remembered; of more, the oldest are forgotten.
MOST_PENDING = 100_000


def fill_rewards(env: Any, model: Any = None, *, features: Features | None = None, initial: float = 0.0) -> Any:
    """Replace hidden rewards by the predictions of a model that learns from the observed ones.

    env: an environment with a monitor, such as `monmdp.monitored(…)` or `gymnasium.make("monmdp/Empty-v0")`, or a
    vector environment of them. model: an object with scikit-learn's partial_fit and predict; by default
    `NearestRewards()`. features: a function of the environment's observation, action and next observation that returns
    a vector; by default the observation and the action, flattened, discrete ones one-hot. initial: what is filled in
    before the first reward was observed.

    The reward is the monitor's plus the observed or the predicted one. `info` has filled_reward, the prediction, NaN
    when the reward was observed. Resets do not change the model, which is the attribute `model`. It also learns from
    late answers (`late_answers`): the features of their steps are remembered.
    """
    wrapper: Any = FilledVectorRewards if isinstance(env, VectorEnv) else FilledRewards
    return wrapper(env, model, features=features, initial=initial)


class FilledRewards(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment whose hidden rewards are filled in, made by `fill_rewards`."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        model: Any = None,
        *,
        features: Features | None = None,
        initial: float = 0.0,
    ) -> None:
        RecordConstructorArgs.__init__(self, model=model, features=features, initial=initial)
        check.instance(env, gymnasium.Env, "fill_rewards takes an environment such as monmdp.monitored(…)")
        super().__init__(env)
        self._rewards = RewardModel(env, env.get_wrapper_attr, model, features, initial)
        self.model = self._rewards.model

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; a seed drops open questions, since step ids begin again."""
        if seed is not None:
            self._rewards.pending.clear()
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action; learn from the reward if it was observed, otherwise predict it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if "reward_observed" not in info:
            raise MonMDPError(f"info of {shown(self.env)} has no reward_observed; wrappers inside must keep it.")
        vectors = self._rewards.vectors(self.env.get_wrapper_attr("env_transition"))
        filled: Any = HIDDEN
        if info.get("reward_pending"):
            self._rewards.remember((0, info["step_id"]), vectors[0])
        self._rewards.learn_late(((0, step_id), answer) for step_id, answer in info.get("answers", ()))
        if info["reward_observed"]:
            self._rewards.learn(vectors, [info["proxy_reward"]])
        else:
            filled = float(self._rewards.predict(vectors)[0])
            reward = float(reward) + filled
        return observation, float(reward), terminated, truncated, {**info, "filled_reward": filled}


class FilledVectorRewards(VectorWrapper[Any, Any, Any, Any, Any]):
    """A vector environment whose hidden rewards are filled in, made by `fill_rewards`; copies share the model."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        model: Any = None,
        *,
        features: Features | None = None,
        initial: float = 0.0,
    ) -> None:
        super().__init__(env)
        self._batched = hasattr(env, "env_transition")  # otherwise the copies are asked one by one
        find = partial(getattr if self._batched else _of_first_copy, env)
        self._rewards = RewardModel(env, find, model, features, initial, env.num_envs if self._batched else None)
        self.model = self._rewards.model

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes; copies with a seed drop their open questions, since step ids begin again."""
        seeds = list(seed) if isinstance(seed, Sequence) else [seed] * self.num_envs
        for copy, step_id in list(self._rewards.pending) if seed is not None else ():
            if seeds[copy] is not None:
                del self._rewards.pending[copy, step_id]
        return self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all copies; learn from all observed rewards, then predict the hidden ones. Resets are left out."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        parts = [part for part in (infos, infos.get("final_info", {})) if "reward_observed" in part]
        observed, hidden = np.zeros((2, self.num_envs), np.bool_)
        proxy, filled = np.full((2, self.num_envs), np.nan)
        for part in parts:
            stepped, shown_ones = part["_reward_observed"], part["reward_observed"].astype(np.bool_)
            observed |= stepped & shown_ones
            hidden |= stepped & ~shown_ones
            proxy[stepped] = part["proxy_reward"][stepped]
        vectors = self._vectors()
        for part in parts:
            for i in np.flatnonzero(part.get("reward_pending", ())).tolist():
                self._rewards.remember((i, part["step_id"][i]), vectors[i])
            answers = enumerate(part.get("answers", ()))
            self._rewards.learn_late(((i, step_id), answer) for i, each in answers for step_id, answer in each or ())
        if observed.any():
            self._rewards.learn(vectors[observed], proxy[observed])
        if hidden.any():
            filled[hidden] = self._rewards.predict(vectors[hidden])
        for part in parts:
            stepped = part["_reward_observed"]
            part |= {"filled_reward": np.where(stepped, filled, 0.0), "_filled_reward": stepped.copy()}
        return observations, rewards + np.where(hidden, filled, 0.0), terminated, truncated, infos

    def _vectors(self) -> np.ndarray:
        if self._batched:
            return self._rewards.vectors(self.env.env_transition)  # type: ignore[attr-defined]
        each = self.env.get_attr("env_transition")  # type: ignore[attr-defined]
        return np.concatenate([self._rewards.vectors(transition) for transition in each])


class RewardModel:
    """A user's or the built-in model, and the features of an environment's steps; n: the size of batches, if any."""

    def __init__(
        self,
        env: Any,
        find: Callable[[str], Any],
        model: Any,
        features: Features | None,
        initial: float,
        n: int | None = None,
    ) -> None:
        try:
            spaces = find("env_spaces")
        except AttributeError:
            raise MonMDPError(
                f"{shown(env)} has no monitor, so its rewards are not hidden; "
                "write monmdp.fill_rewards(monmdp.monitored(env, 'Ask'))."
            ) from None
        self.model = NearestRewards() if model is None else model
        missing = [name for name in ("partial_fit", "predict") if not callable(getattr(self.model, name, None))]
        if missing or isinstance(model, type):
            lacks = f"has no {' and no '.join(missing)}" if missing else "is a class; pass an object of it"
            raise MonMDPError(f"The model {shown(model)} {lacks}; an example is sklearn.linear_model.SGDRegressor().")
        if features is not None and not callable(features):
            raise MonMDPError(
                f"features must be a function of (observation, action, next_observation), not {shown(features)}."
            )
        self._initial = check.finite(initial, "The initial value")
        self._features, self._size, self._fitted = features, 0, False
        self.pending: dict[tuple[int, int], np.ndarray] = {}
        self._flatten = [partial(as_vectors, space, batch=(n,) if n else ()) for space in spaces]
        batches = [batch_space(space, n) for space in (*spaces, spaces[0])] if n else []
        self._rows = (lambda parts: zip(*map(iterate, batches, parts), strict=True)) if n else lambda step: [step]

    def vectors(self, transition: tuple[Any, Any, Any]) -> np.ndarray:
        """The features [N, D] of a step, or of a batch of steps."""
        if self._features is None:
            parts = [read(part) for read, part in zip(self._flatten, transition, strict=False)]
            return np.atleast_2d(np.concatenate(parts, axis=-1, dtype=np.float64))
        return np.stack([self._vector(self._features, *row) for row in self._rows(transition)])

    def _vector(self, features: Features, *step: Any) -> np.ndarray:
        """What a user's function returns, which must be a vector of finite numbers, of the same size every time."""
        where = f"features, for observation {shown(step[0])} and action {shown(step[1])},"
        try:
            vector = np.asarray(features(*step), np.float64)
        except Exception as error:  # code of a user can raise anything
            raise check.raised(where, error) from error
        if vector.ndim != 1 or vector.size != (self._size or vector.size) or not np.isfinite(vector).all():
            size = f"of {self._size} " if self._size else "of "
            raise MonMDPError(f"{where} must return a vector {size}finite numbers, not {shown(vector)}.")
        self._size = vector.size
        return vector

    def learn(self, vectors: np.ndarray, rewards: Any) -> None:
        """Learn from observed rewards [N]."""
        self.model.partial_fit(vectors, np.asarray(rewards, np.float64))
        self._fitted = True

    def remember(self, step: tuple[int, int], vector: np.ndarray) -> None:
        """Keep the features of a step, (copy, step id), until its answer arrives."""
        self.pending[step] = vector
        if len(self.pending) > MOST_PENDING:
            del self.pending[next(iter(self.pending))]

    def learn_late(self, answers: Iterable[tuple[tuple[int, int], float]]) -> None:
        """Learn from answers to remembered steps."""
        arrived = [(self.pending.pop(step), reward) for step, reward in answers if step in self.pending]
        if arrived:
            vectors, rewards = zip(*arrived, strict=True)
            self.learn(np.stack(vectors), rewards)

    def predict(self, vectors: np.ndarray) -> np.ndarray:
        """The predicted rewards [N]; the initial value before the first observed reward."""
        if not self._fitted:
            return np.full(len(vectors), self._initial)
        predicted = np.ravel(self.model.predict(vectors)).astype(np.float64)
        if predicted.shape != (len(vectors),) or not np.isfinite(predicted).all():
            raise MonMDPError(
                f"The model {shown(self.model)} predicted {shown(predicted)} for features of shape {vectors.shape}, "
                "not one finite number for each row; many models need features of similar scale."
            )
        return predicted


def _of_first_copy(env: Any, name: str) -> Any:
    """An attribute of the first of several separate environments, which may be in other processes."""
    if not env.call("has_wrapper_attr", name)[0]:
        raise AttributeError(name)
    return env.get_attr(name)[0]
