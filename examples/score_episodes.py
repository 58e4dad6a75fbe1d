"""A person scores what an agent does: moves are shown after every episode, and the scores are its late rewards.

The agent never sees the rewards of this small frozen lake. It asks about every move that it tries for the first time.
When the episode is over, you see these moves and score each, for example 1 if it enters the goal G, -1 if it enters the
hole H, and 0 otherwise. Run it in a terminal; with --simulated, or without a terminal, a function gives the scores.
"""

import argparse
import sys

import gymnasium
import numpy as np

import monmdp

MAP = ["SF", "FF", "HG"]
MOVES, HOLE, GOAL = "←↓→↑", 4, 5
EPISODES, DISCOUNT = 5, 0.9


def simulated_person(question):
    """1 for the goal, -1 for the hole."""
    return {GOAL: 1.0, HOLE: -1.0}.get(int(question.next_observation), 0.0)


def values(memory):
    """Q [state, action] of the remembered moves; untried moves are worth 1, so that the agent tries them."""
    q = np.ones((6, 4))
    for _ in range(30):
        for state, action, score, after, terminated in memory.values():
            q[state, action] = score + DISCOUNT * (not terminated) * q[after].max()
    return q


def play(env, memory, seed=None):
    """One greedy episode. A move gets the score 0 in the memory, and its own when the answer arrives."""
    state, ended, path = env.reset(seed=seed)[0]["env"], False, []
    tried = {(state, action) for state, action, *_ in memory.values()}
    while not ended:
        action = int(values(memory)[state].argmax())
        ask = (state, action) not in tried
        observation, _, terminated, truncated, info = env.step({"env": action, "monitor": int(ask)})
        if ask:
            tried.add((state, action))
            score = info["proxy_reward"] if info["reward_observed"] else 0.0  # answered at once
            memory[info["step_id"]] = [state, action, score, observation["env"], terminated]
        for step_id, score in info.get("answers", ()):
            memory[step_id][2] = score
        state, ended = observation["env"], terminated or truncated
        path.append(MOVES[action])
    return path


def main(answer):
    lake = gymnasium.make("FrozenLake-v1", desc=MAP, is_slippery=False, render_mode="ansi", max_episode_steps=12)
    env = monmdp.monitored(lake, "Ask", evaluation_info=False)
    env = monmdp.late_answers(env, monmdp.EpisodeAnswers(answer), render=True)
    memory = {}
    for episode in range(EPISODES):
        path = play(env, memory, seed=0 if episode == 0 else None)
        print(f"Episode {episode + 1}: {' '.join(path)} ({len(memory)} different moves so far)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulated", action="store_true", help="a function gives the scores")
    simulated = parser.parse_args().simulated or not sys.stdin.isatty()
    if not simulated:
        print("Score each move: 1 if it enters the goal G, -1 for the hole H, 0 otherwise.")
    main(simulated_person if simulated else monmdp.ConsoleAnswers())
