"""Frozen trajectories: a hash of how every environment id plays and how every agent learns.

    python tests/trajectories.py    writes entries that are missing into trajectories.json, and never changes one

Only exact things are hashed: states, ends, what was shown, rewards (sums of the model's own numbers, without noise),
and integer counts of agents.
"""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import gymnasium

import monmdp
from monmdp.gym.registration import environment_id
from monmdp.training.job import TRAJECTORIES

FILE = Path(__file__).with_name("trajectories.json")
STEPS = 200
#: Where agents learn: random episodes' ends, a button, and rewards that are often hidden.
LESSON = ("Hazard", "Button(observability=0.8)")


def own(registry: Any) -> list[str]:
    """The names of a registry that are ours, not a plug-in's."""
    return [name for name in registry if not registry.origin(name)]


def play(name: str, monitor: str) -> str:
    """How an environment plays under random actions, and what its model is: two hashes."""
    env = gymnasium.make(environment_id(name), monitor=monitor)
    luck = random.Random(f"{name} {monitor}")  # .random() gives the same numbers in every version of Python
    sha = hashlib.sha256()
    observation, _ = env.reset(seed=1)
    for _ in range(STEPS):
        sha.update(f"{observation['env']} {observation['monitor']}\n".encode())
        action = {part: int(luck.random() * space.n) for part, space in env.action_space.items()}
        observation, reward, terminated, truncated, info = env.step(action)
        shown = f"{info['proxy_reward'].hex()}" if info["reward_observed"] else "hidden"
        rewards = f"{reward.hex()} {info['env_reward'].hex()} {info['monitor_reward'].hex()} {shown}"
        sha.update(f"{action['env']} {action['monitor']} {rewards} {terminated} {truncated}\n".encode())
        if terminated or truncated:
            observation, _ = env.reset()
    return f"{env.unwrapped.problem.digest[:16]} {sha.hexdigest()[:16]}"


def learn(agent: str) -> str:
    """How an agent learns with its default options: which pairs it visits how often, and when it sees rewards."""
    curves = monmdp.train(monmdp.make(*LESSON), agent, seeds=2, steps=3000, points=30)
    sha = hashlib.sha256()
    for counts in (curves.visit_counts, curves.observed, curves.visited):
        sha.update(counts.astype("<i8").tobytes())
    return sha.hexdigest()[:16]


def trajectories_of(agent: str) -> str:
    """The key of an agent's entries."""
    return f"trajectories {TRAJECTORIES + monmdp.AGENTS.find(agent).revision}"


def wanted() -> dict[str, dict[str, list[str]]]:
    """Group → key → names: what there must be an entry for."""
    monitors = own(monmdp.MONITORS)
    agents: dict[str, list[str]] = {}
    for name in own(monmdp.AGENTS):
        agents.setdefault(trajectories_of(name), []).append(name)
    return {
        "environments": {environment_id(name): monitors for name in own(monmdp.ENVIRONMENTS)},
        "agents": agents,
    }


def compute(group: str, key: str, name: str) -> str:
    return play(key.removeprefix("monmdp/").rpartition("-")[0], name) if group == "environments" else learn(name)


def frozen() -> dict[str, dict[str, dict[str, str]]]:
    """Group → key → name → hashes, as they were written once."""
    found: dict[str, dict[str, dict[str, str]]] = json.loads(FILE.read_text())
    return found


def write_missing(file: Path = FILE) -> int:
    """Add entries for what is new; what is there stays as it is. Returns how many were added."""
    known = json.loads(file.read_text()) if file.exists() else {}
    added = 0
    for group, keys in wanted().items():
        for key, names in keys.items():
            entries = known.setdefault(group, {}).setdefault(key, {})
            for name in names:
                if name not in entries:
                    entries[name] = compute(group, key, name)
                    added += 1
    file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return added


if __name__ == "__main__":
    print(f"{write_missing()} new entries in {FILE.name}.")
