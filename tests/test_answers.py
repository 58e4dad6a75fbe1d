"""Late answers: step ids, the contract, sources of answers, reward models that learn later, leaks, errors."""

from __future__ import annotations

import math
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from test_filled import Recorder
from test_monitored import MONITORS, Changed, base, play, somewhere, warnings_of

import monmdp
from monmdp import (
    AnswerQueue,
    ConsoleAnswers,
    DelayedAnswers,
    EpisodeAnswers,
    MonMDPError,
    fill_rewards,
    late_answers,
    monitored,
)

ASK, QUIET = {"env": 0, "monitor": 1}, {"env": 0, "monitor": 0}


def pendulum(source: Any, monitor: str = "Ask", steps: int = 200, **options: Any) -> Any:
    return late_answers(monitored(gymnasium.make("Pendulum-v1", max_episode_steps=steps), monitor), source, **options)


def torque(ask: int) -> dict[str, Any]:
    return {"env": np.zeros(1, np.float32), "monitor": ask}


class Scripted:
    """Answers what the test says."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.questions = list(answers), []

    def ask(self, question):
        self.questions.append(question)

    def poll(self):
        return self.answers.pop(0) if self.answers else []


# step ids


@pytest.mark.parametrize(
    "make",
    [
        lambda: monitored(gymnasium.make("CartPole-v1"), "Ask"),
        lambda: gymnasium.make("monmdp/Loop-v0", monitor="Ask"),
    ],
)
def test_step_ids_count_steps_since_the_last_seed(make):
    env = make()
    env.reset(seed=0)
    assert [env.step(QUIET)[4]["step_id"] for _ in range(3)] == [0, 1, 2]
    env.reset()
    assert env.step(QUIET)[4]["step_id"] == 3
    env.reset(seed=0)
    assert env.step(QUIET)[4]["step_id"] == 0


def test_step_ids_of_copies_count_their_own_steps():
    envs = monmdp.MonitoredVectorEnv("Loop", 2, monitor="Ask", max_episode_steps=2)
    envs.reset(seed=0)
    stay = {"env": np.zeros(2, int), "monitor": np.zeros(2, int)}
    infos = [envs.step(stay)[4] for _ in range(4)]
    assert [info["step_id"].tolist() if info else None for info in infos] == [[0, 0], [1, 1], None, [2, 2]]


# the contract


def test_an_answer_three_steps_later():
    """Costs are paid when the question is asked; the reward itself comes only in `answers`."""
    env = late_answers(monitored(gymnasium.make("CartPole-v1"), "Ask", budget=2), DelayedAnswers(3))
    env.reset(seed=0)
    steps = [env.step({"env": i % 2, "monitor": ask}) for i, ask in enumerate((1, 0, 1, 1, 0, 0))]
    infos = [step[4] for step in steps]
    assert [step[1] for step in steps] == [-0.2, 0.0, -0.2, -0.2, 0.0, 0.0]
    assert [info["reward_pending"] for info in infos] == [True, False, True, False, False, False], "the budget is 2"
    assert [info["answers_left"] for info in infos] == [1, 1, 0, 0, 0, 0]
    assert [info.get("answers") for info in infos] == [None, None, None, [(0, 1.0)], None, [(2, 1.0)]]
    assert not any(info["reward_observed"] for info in infos)
    assert all(math.isnan(info["proxy_reward"]) for info in infos)


@pytest.mark.parametrize("monitor", MONITORS)
def test_answers_in_the_same_step_change_nothing(monitor):
    plain = play(monitored(base("Pendulum-v1"), monitor, at=somewhere), 1)
    late = play(late_answers(monitored(base("Pendulum-v1"), monitor, at=somewhere), DelayedAnswers(0)), 1)
    for step in late:
        if len(step) == 5:
            assert step[4].pop("reward_pending") is False
    assert all(map(data_equivalence, plain, late))


@pytest.mark.parametrize(
    "source",
    [
        lambda: DelayedAnswers(1),
        lambda: DelayedAnswers(7),
        lambda: DelayedAnswers(lambda question: [9, 0, 4][question.step_id % 3]),
        lambda: EpisodeAnswers(),
    ],
)
def test_every_question_is_answered_once_with_its_reward(source):
    """Over several episodes; the last questions are still open."""
    env = pendulum(source(), "Full(observability=0.6)", steps=11)
    truth, asked, answered = {}, [], {}
    for step in play(env, 4, 120):
        if len(step) == 2:
            continue
        info = step[4]
        truth[info["step_id"]] = info["env_reward"]
        shown = info["proxy_reward"] if info["reward_observed"] else 0.0
        assert step[1] == info["monitor_reward"] + shown
        if info["reward_pending"]:
            asked.append(info["step_id"])
        for step_id, reward in info.get("answers", ()):
            assert step_id in asked
            assert step_id not in answered
            answered[step_id] = reward
    assert 30 < len(answered) <= len(asked)
    assert all(truth[step_id] == reward for step_id, reward in answered.items())
    assert set(asked) - set(answered) <= set(range(109, 120))


def test_answers_at_the_end_of_the_episode():
    env = pendulum(EpisodeAnswers(lambda question: 10.0 * question.step_id), steps=3)
    env.reset(seed=0)
    infos = [env.step(torque(1))[4] for _ in range(3)]
    assert [info.get("answers") for info in infos] == [None, None, [(0, 0.0), (1, 10.0)]]
    assert infos[2]["proxy_reward"] == 20.0, "the last step's answer comes in time"
    cut = TimeLimit(pendulum(EpisodeAnswers(), steps=100), 2)
    cut.reset(seed=0)
    assert "answers" not in cut.step(torque(1))[4]
    assert "answers" not in cut.step(torque(0))[4]
    cut.reset()
    assert [step_id for step_id, _ in cut.step(torque(0))[4]["answers"]] == [0]


def test_questions_have_the_step_of_the_environment_and_a_frame():
    source = Scripted()
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False, render_mode="ansi")
    env = late_answers(monitored(lake, "Ask", actions="joint", observations="concat"), source, render=True)
    env.reset(seed=0)
    env.step(2 * 1 + 0)
    env.step(2 * 2 + 1)
    (question,) = source.questions
    assert question[:5] == (1, 4, 2, 5, 0.0)
    assert "(Right)" in question.frame
    env = pendulum(plain := Scripted())
    env.reset(seed=0)
    env.step(torque(1))
    assert plain.questions[0].frame is None


def test_a_source_may_say_that_there_is_no_answer():
    env = pendulum(Scripted([], [(0, None)], [(2, None)]))
    env.reset(seed=0)
    infos = [env.step(torque(ask))[4] for ask in (1, 0, 1)]
    assert [info["reward_pending"] for info in infos] == [True, False, False]
    assert not any("answers" in info or info["reward_observed"] for info in infos)


def test_a_seed_drops_open_questions():
    for source in (DelayedAnswers(1), EpisodeAnswers(), AnswerQueue()):
        env = pendulum(source, steps=2)
        env.reset(seed=0)
        env.step(torque(1))
        env.reset(seed=0)
        infos = [env.step(torque(0))[4] for _ in range(2)]
        assert not any("answers" in info for info in infos)


def test_the_checker_of_gymnasium_finds_nothing_new():
    assert warnings_of(pendulum(DelayedAnswers(0))) <= warnings_of(base("Pendulum-v1"))
    assert warnings_of(pendulum(DelayedAnswers(5))) <= warnings_of(base("Pendulum-v1"))


# other threads and persons


def test_another_thread_answers_in_any_order():
    queue = AnswerQueue()
    env = pendulum(queue)
    env.reset(seed=0)
    assert queue.get(timeout=0) is None
    worker_answers: list[Any] = []

    def work():
        questions = [queue.get() for _ in range(3)]
        for question, reward in zip(reversed(questions), (3.0, None, 1.0), strict=True):
            queue.answer(question, reward)
            worker_answers.append(question.step_id)

    worker = threading.Thread(target=work)
    worker.start()
    pending = [env.step(torque(ask))[4]["reward_pending"] for ask in (1, 0, 1)]
    assert pending == [True, False, True]
    last = env.step(torque(1))[4]
    worker.join()
    answers = last.get("answers", []) + env.step(torque(0))[4].get("answers", [])
    if last["reward_observed"]:  # the other thread was fast
        answers.append((3, last["proxy_reward"]))
    assert sorted(answers) == [(0, 1.0), (3, 3.0)]
    assert worker_answers == [3, 2, 0]


def test_a_queue_takes_every_answer_once():
    queue = AnswerQueue()
    env = pendulum(queue)
    env.reset(seed=0)
    env.step(torque(1))
    question = queue.get()
    with pytest.raises(MonMDPError, match="answer to step 0"):
        queue.answer(question, math.nan)
    queue.answer(question, 2.0)
    with pytest.raises(MonMDPError, match="step 0 is not open: it was answered before"):
        queue.answer(question, 2.0)
    env.reset(seed=0)
    env.step(torque(1))
    with pytest.raises(MonMDPError, match="dropped by a reset with a seed"):
        queue.answer(question, 2.0)


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> list[str]:
    """Lines that a person types, and then Ctrl-D; returns the lines that are still to be read."""
    waiting = list(lines)

    def read(prompt: str) -> str:
        print(prompt, end="")
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    monkeypatch.setattr("builtins.input", read)
    return waiting


def test_a_person_at_the_console(monkeypatch, capsys):
    """Numbers count, other text is asked for again, an empty line is no answer, Ctrl-D ends all questions."""
    typed(monkeypatch, " 0.5 ", "good", "nan", "-2", "")
    env = pendulum(DelayedAnswers(0, ConsoleAnswers()))
    env.reset(seed=0)
    infos = [env.step(torque(1))[4] for _ in range(5)]
    assert [info["proxy_reward"] for info in infos if info["reward_observed"]] == [0.5, -2.0]
    assert [info["reward_observed"] for info in infos] == [True, True, False, False, False]
    text = capsys.readouterr().out
    assert text.count("Write a number") == 2
    assert text.count("Reward (") == 6, "the fifth step is not asked for"
    assert "Step 3: observation" in text
    assert "No more questions" in text
    assert not any(str(info["env_reward"])[:6] in text for info in infos), "the true reward is not shown"


def test_frames_at_the_console(monkeypatch, capsys, tmp_path):
    typed(monkeypatch, "1", "1")
    lake = gymnasium.make("FrozenLake-v1", render_mode="ansi")
    env = late_answers(monitored(lake, "Ask"), EpisodeAnswers(ConsoleAnswers()), render=True)
    env.reset(seed=0)
    env.step(ASK)
    frame = lake.render()
    env.reset()
    assert frame.rstrip() in capsys.readouterr().out
    grid = gymnasium.make("monmdp/Loop-v0", monitor="Ask", render_mode="rgb_array")
    env = late_answers(grid, DelayedAnswers(0, ConsoleAnswers(tmp_path / "frames")), render=True)
    env.reset(seed=0)
    env.step(ASK)
    path = tmp_path / "frames" / "step-0.png"
    assert str(path) in capsys.readouterr().out
    from PIL import Image

    assert (np.asarray(Image.open(path)) == grid.render()).all()


# reward models


def test_a_reward_model_learns_from_late_answers():
    model = Recorder()
    env = fill_rewards(
        pendulum(DelayedAnswers(2, lambda question: 5.0)), model, features=lambda s, a, t: [*s, *a], initial=-1.0
    )
    observations = [env.reset(seed=0)[0]["env"]]
    rewards = []
    for ask in (1, 0, 0, 0):
        observation, reward, *_, info = env.step(torque(ask))
        observations.append(observation["env"])
        rewards.append(reward)
    assert model.fitted == [((*observations[0], 0.0), 5.0)]
    assert rewards == [-0.2 - 1.0, -1.0, 7.0, 7.0], "filled in before and after the answer arrived"
    assert info["filled_reward"] == 7.0


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_copies_learn_from_late_answers(mode):
    """Each copy has its own step ids; every answer arrives at the features of its own step."""
    model = Recorder()
    problem = monmdp.make("Empty(rows=2, columns=2, step_limit=4)", "Ask")

    def copy(i):
        answer = DelayedAnswers(2, lambda question: 100.0 * i + question.observation)
        return lambda: late_answers(monmdp.MonitoredEnv(problem), answer)

    envs = SyncVectorEnv([copy(i) for i in range(3)], autoreset_mode=mode)
    envs = fill_rewards(envs, model, features=lambda state, action, after: [state])
    envs.action_space.seed(0)
    envs.reset(seed=0)
    for _ in range(40):
        envs.step(envs.action_space.sample())
    assert {reward // 100 for _, reward in model.fitted} == {0, 1, 2}
    assert all(reward % 100 == state for (state,), reward in model.fitted)
    assert len(model.fitted) > 30
    assert envs._rewards.pending
    envs.reset(seed=[7, None, 7])
    assert {key[0] for key in envs._rewards.pending} <= {1}


# what is hidden stays hidden


@pytest.mark.parametrize("monitor", MONITORS)
def test_hidden_and_pending_rewards_change_nothing(monitor):
    """Rewards that the monitor hides, and those whose answers have not arrived yet."""

    def run(steps: set[int]) -> Any:
        env = monitored(Changed(base("Pendulum-v1"), steps), monitor, at=somewhere, evaluation_info=False)
        return play(fill_rewards(late_answers(env, DelayedAnswers(6))), 2, 30)

    first = run(set())
    infos = [step[4] for step in first if len(step) == 5]
    arrived = {step_id for info in infos for step_id, _ in info.get("answers", ())}
    unknown = {info["step_id"] for info in infos} - arrived
    assert set(range(24, 30)) <= unknown
    assert all(map(data_equivalence, first, run({step_id + 1 for step_id in unknown})))


# errors


def ask_twice(source: Any) -> None:
    env = pendulum(source)
    env.reset(seed=0)
    env.step(torque(1))
    env.step(torque(1))
    env.step(torque(0))


def seed_again(source: Any) -> None:
    env = pendulum(source)
    env.reset(seed=0)
    env.step(torque(1))
    env.reset(seed=0)


class NoPoll:
    def ask(self, question):
        pass


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: ask_twice(Scripted([(7, 1.0)])), "answered step 7, which has no open question"),
        (lambda: ask_twice(Scripted([(0, 1.0)], [(0, 1.0)])), "answered step 0, which has no open question"),
        (lambda: ask_twice(Scripted([], [(0, 1.0), (0, 1.0)])), "answered step 0, which has no open question"),
        (lambda: ask_twice(Scripted([], [(0, math.inf)])), "The answer to step 0"),
        (lambda: ask_twice(Scripted([], [(0, "good")])), "The answer to step 0"),
        (lambda: ask_twice(Scripted([], [3.0])), "must return pairs, not 3.0"),
        (lambda: ask_twice(Scripted([([], 3.0)])), "must return pairs"),
        (lambda: pendulum(NoPoll()), "has no poll; an example is monmdp.DelayedAnswers"),
        (lambda: pendulum(EpisodeAnswers), "is a class"),
        (lambda: pendulum(EpisodeAnswers(), render=True), "render_mode='rgb_array'"),
        (lambda: late_answers(gymnasium.make("CartPole-v1"), EpisodeAnswers()), r"monmdp.monitored\(env, 'Ask'\)"),
        (
            lambda: late_answers(gymnasium.make_vec("monmdp/Loop-v0", num_envs=2), EpisodeAnswers()),
            "takes one environment",
        ),
        (lambda: seed_again(Scripted()), r"drops 1 open question; give .* a method clear\(\)"),
        (lambda: DelayedAnswers(-1), "The delay in steps"),
    ],
)
def test_errors_say_what_to_do(attempt, message):
    with pytest.raises(MonMDPError, match=message) as error:
        attempt()
    assert "\n" not in str(error.value)
