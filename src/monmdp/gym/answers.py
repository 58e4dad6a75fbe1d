"""Rewards that arrive later: `late_answers`, the questions it asks, and sources that answer them.

A source has `ask(question)` and `poll()`, which returns pairs (step_id, reward) that have arrived, or (step_id, None)
if there will be no answer. It may have `end_episode()`, called when an episode ends, and `clear()`, called by a reset
with a seed, after which step ids begin again.
"""

import heapq
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from monmdp import check
from monmdp.errors import MonMDPError, plural, shown
from monmdp.gym.single import HIDDEN


class Question(NamedTuple):
    """A step whose reward is asked for; reward is the environment's own, for simulated answers only."""

    step_id: int
    observation: Any
    action: Any
    next_observation: Any
    reward: float
    frame: Any = None


Answer = tuple[int, float | None]
Answerer = Callable[[Question], float | None]


class Source(Protocol):
    """What answers questions, sooner or later."""

    def ask(self, question: Question) -> None:
        """Take a question."""

    def poll(self) -> Iterable[Answer]:
        """The answers that have arrived since the last call; called once in every step, after `ask`."""


def late_answers(env: gymnasium.Env[Any, Any], source: Source, *, render: bool = False) -> gymnasium.Env[Any, Any]:
    """Ask a source for every reward that the monitor shows, and hide it until the answer arrives.

    env: an environment with a monitor, such as `monmdp.monitored(…)`. source: an object with ask and poll, such as
    `DelayedAnswers(steps=10)`. Until its answer arrives, a reward is hidden, and `info["reward_pending"]` is True; the
    monitor charges when it asks. Answers come in `info["answers"]` of a later step, a list of (step_id, reward). An
    answer that arrives in its own step is the reward of that step. render: whether questions have a rendered frame.
    """
    return LateAnswers(env, source, render=render)


class LateAnswers(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment whose rewards arrive later, made by `late_answers`."""

    def __init__(self, env: gymnasium.Env[Any, Any], source: Source, *, render: bool = False) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, source=source, render=render)
        check.instance(env, gymnasium.Env, "late_answers takes one environment such as monmdp.monitored(…)")
        super().__init__(env)
        if not env.has_wrapper_attr("env_transition"):
            raise MonMDPError(
                f"{shown(env)} has no monitor that asks for rewards; "
                "write monmdp.late_answers(monmdp.monitored(env, 'Ask'), source)."
            )
        missing = [name for name in ("ask", "poll") if not callable(getattr(source, name, None))]
        if missing or isinstance(source, type):
            lacks = f"has no {' and no '.join(missing)}" if missing else "is a class; pass an object of it"
            raise MonMDPError(f"The source {shown(source)} {lacks}; an example is monmdp.DelayedAnswers(steps=10).")
        if check.boolean(render, "render") and env.render_mode not in ("ansi", "rgb_array"):
            raise MonMDPError(
                f"Frames need an environment made with render_mode='rgb_array' or 'ansi', not {env.render_mode!r}."
            )
        self.source, self._render = source, render
        self._waiting: set[int] = set()
        self._running = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; a seed also drops open questions, since step ids begin again."""
        if seed is None and self._running:  # cut by a wrapper outside
            self._tell("end_episode")
        self._running = False
        if seed is not None:
            if self._waiting and not callable(getattr(self.source, "clear", None)):
                raise MonMDPError(
                    f"A reset with a seed drops {plural(len(self._waiting), 'open question')}; "
                    f"give {shown(self.source)} a method clear() that forgets them, or reset without a seed."
                )
            self._waiting.clear()
            self._tell("clear")
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action; ask for its reward if the monitor shows it, and deliver answers to earlier questions."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        step_id, reward = info["step_id"], float(reward)
        if info["reward_observed"]:
            frame: Any = self.env.render() if self._render else None
            before, env_action, after = self.env.get_wrapper_attr("env_transition")
            self._waiting.add(step_id)
            self.source.ask(Question(step_id, before, env_action, after, info["proxy_reward"], frame))
            reward = info["monitor_reward"]
            info = {**info, "reward_observed": False, "proxy_reward": HIDDEN}
        self._running = not (terminated or truncated)
        if not self._running:
            self._tell("end_episode")
        answers = self._poll()
        if step_id in answers:  # at once: a reward like any other
            info |= {"reward_observed": True, "proxy_reward": answers.pop(step_id)}
            reward += info["proxy_reward"]
        info["reward_pending"] = step_id in self._waiting
        if answers:
            info["answers"] = list(answers.items())
        return observation, reward, terminated, truncated, info

    def _poll(self) -> dict[int, float]:
        """The rewards that have arrived, by step id, checked."""
        answers = {}
        for answer in self.source.poll():
            try:
                step_id, reward = answer
                self._waiting.remove(step_id)
            except (TypeError, ValueError):
                raise MonMDPError(f"poll of {shown(self.source)} must return pairs, not {shown(answer)}.") from None
            except KeyError:
                raise MonMDPError(
                    f"{shown(self.source)} answered step {shown(step_id)}, which has no open question: "
                    "answer every step that was asked for once."
                ) from None
            if reward is not None:
                answers[step_id] = check.finite(reward, f"The answer to step {step_id}")
        return answers

    def _tell(self, event: str) -> None:
        """Call an optional method of the source."""
        if callable(hook := getattr(self.source, event, None)):
            hook()


def true_reward(question: Question) -> float:
    """Answers with the environment's own reward."""
    return question.reward


class DelayedAnswers:
    """Answers every question a number of steps later; 0 is in the same step.

    steps: a whole number, or a function of the question. answer: a function of the question that returns the reward,
    or None for no answer; by default the environment's reward.
    """

    _due: list[tuple[int, int, Question]]
    _clock: int

    def __init__(self, steps: int | Callable[[Question], int], answer: Answerer = true_reward) -> None:
        self._steps = steps if callable(steps) else check.whole(steps, 0, "The delay in steps")
        self._answer = answer
        self.clear()

    def ask(self, question: Question) -> None:
        """Take a question."""
        steps = self._steps
        delay = check.whole(steps(question), 0, "The delay in steps") if callable(steps) else steps
        heapq.heappush(self._due, (self._clock + delay, question.step_id, question))

    def poll(self) -> list[Answer]:
        """The answers that are due in this step."""
        arrived = []
        while self._due and self._due[0][0] <= self._clock:
            question = heapq.heappop(self._due)[2]
            arrived.append((question.step_id, self._answer(question)))
        self._clock += 1
        return arrived

    def clear(self) -> None:
        """Forget all questions."""
        self._due = []
        self._clock = 0


class EpisodeAnswers:
    """Answers all questions of an episode when it ends; answer: as in `DelayedAnswers`."""

    _asked: list[Question]
    _arrived: list[Answer]

    def __init__(self, answer: Answerer = true_reward) -> None:
        self._answer = answer
        self.clear()

    def ask(self, question: Question) -> None:
        """Take a question."""
        self._asked.append(question)

    def end_episode(self) -> None:
        """Answer all questions."""
        self._arrived += [(question.step_id, self._answer(question)) for question in self._asked]
        self._asked = []

    def poll(self) -> list[Answer]:
        """The answers to the episode's questions if it has ended."""
        arrived, self._arrived = self._arrived, []
        return arrived

    def clear(self) -> None:
        """Forget all questions."""
        self._asked, self._arrived = [], []


class AnswerQueue:
    """Questions and answers between threads: one trains, and others take questions with `get` and `answer` them."""

    _open: dict[int, Question]
    _asked: deque[Question]
    _arrived: list[Answer]

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.clear()

    def ask(self, question: Question) -> None:
        """Take a question; called by the environment."""
        with self._changed:
            self._open[question.step_id] = question
            self._asked.append(question)
            self._changed.notify()

    def poll(self) -> list[Answer]:
        """The answers that have arrived; called by the environment."""
        with self._changed:
            arrived, self._arrived = self._arrived, []
            return arrived

    def get(self, timeout: float | None = None) -> Question | None:
        """The next question; waits for it at most timeout seconds, and returns None if there is none."""
        with self._changed:
            return self._asked.popleft() if self._changed.wait_for(lambda: self._asked, timeout) else None

    def answer(self, question: Question, reward: float | None) -> None:
        """Answer a question, in any order; None means that there is no answer."""
        number = None if reward is None else check.finite(reward, f"The answer to step {question.step_id}")
        with self._changed:
            if self._open.get(question.step_id) is not question:
                raise MonMDPError(
                    f"The question of step {question.step_id} is not open: it was answered before, or dropped by a "
                    "reset with a seed."
                )
            del self._open[question.step_id]
            self._arrived.append((question.step_id, number))

    def clear(self) -> None:
        """Drop all questions and answers."""
        with self._changed:
            self._open, self._asked, self._arrived = {}, deque(), []


class ConsoleAnswers:
    """Shows a question in the terminal and reads the reward: the `answer` of a source, such as `EpisodeAnswers`.

    An empty line means no answer; end of input (Ctrl-D) ends all questions. Text frames are printed, images saved in
    a folder, by default a temporary one. The environment's reward is not shown.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = None if folder is None else check.path(folder, "The folder for frames")
        self._open = True

    def __call__(self, question: Question) -> float | None:
        """The reward that a person gives."""
        if not self._open:
            return None
        print(f"\nStep {question.step_id}: {self._text(question)}")
        while True:
            try:
                text = input("Reward (empty: no answer, Ctrl-D: no more questions): ").strip()
            except EOFError:
                self._open = False
                print("\nNo more questions.")
                return None
            if not text:
                return None
            try:
                return check.finite(float(text), "The reward")
            except (ValueError, MonMDPError):
                print("Write a number such as 1 or -0.5.")

    def _text(self, question: Question) -> str:
        """The frame as text or as the path of an image; without one, the step."""
        if isinstance(question.frame, str):
            return "\n" + question.frame.rstrip()
        if question.frame is None:
            parts = (question.observation, question.action, question.next_observation)
            return "observation {}, action {}, next observation {}".format(*map(shown, parts))
        from PIL import Image

        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="monmdp-frames-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"step-{question.step_id}.png"
        Image.fromarray(np.asarray(question.frame)).save(path)
        return f"see {path}"
