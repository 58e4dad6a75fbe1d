"""Trajectories of every environment id and every agent are those of their release."""

from __future__ import annotations

import json

import gymnasium
import pytest
import trajectories

import monmdp
from monmdp.gym import registration

WANTED = trajectories.wanted()
WRITE = "run `python tests/trajectories.py`"


@pytest.mark.parametrize("key", WANTED["environments"])
def test_environment_trajectories_are_unchanged(key):
    entries = trajectories.frozen()["environments"].get(key, {})
    missing = [name for name in WANTED["environments"][key] if name not in entries]
    assert not missing, f"{key} has no frozen trajectory with {', '.join(missing)}; if they are new, {WRITE}."
    changed = [name for name in entries if trajectories.compute("environments", key, name) != entries[name]]
    assert not changed, (
        f"{key} with {', '.join(changed)} behaves differently from its release. Undo the change; or, if it "
        f"is intended, give the environment a higher number in VERSIONS of monmdp/gym/registration.py (a "
        f"monitor: a new name, or a new option that is off by default), delete the old entries, and {WRITE}."
    )


@pytest.mark.parametrize("agent", trajectories.own(monmdp.AGENTS))
def test_agent_trajectories_are_unchanged(agent):
    entries = trajectories.frozen()["agents"].get(trajectories.trajectories_of(agent), {})
    assert agent in entries, f"{agent} has no frozen trajectory; if it is new, {WRITE}."
    assert trajectories.learn(agent) == entries[agent], (
        f"{agent} learns differently from its release. Undo the change; or, if it is intended, raise its "
        f"`revision`, so that old and new results never mix, and {WRITE}."
    )


def test_no_entries_of_removed_ids():
    gone = set(trajectories.frozen()["environments"]) - set(WANTED["environments"])
    assert not gone, f"Delete the entries of {', '.join(sorted(gone))} in tests/trajectories.json; no such id is left."


def test_entries_are_never_overwritten(tmp_path):
    known = trajectories.frozen()
    known["environments"]["monmdp/Loop-v0"]["Ask"] = "something else"
    del known["environments"]["monmdp/Loop-v0"]["Full"]
    file = tmp_path / "trajectories.json"
    file.write_text(json.dumps(known))
    assert trajectories.write_missing(file) == 1
    written = json.loads(file.read_text())
    assert (
        written["environments"]["monmdp/Loop-v0"].pop("Full")
        == (trajectories.frozen()["environments"]["monmdp/Loop-v0"]["Full"])
    )
    del known["environments"]["monmdp/Loop-v0"]
    known["environments"]["monmdp/Loop-v0"] = written["environments"]["monmdp/Loop-v0"]
    assert written == known
    assert written["environments"]["monmdp/Loop-v0"]["Ask"] == "something else"


def test_changed_rewards_and_probabilities_change_the_hash(monkeypatch):
    """The hashes depend on rewards and transitions."""
    before = trajectories.play("RiverSwim", "Ask")
    monkeypatch.setattr("monmdp.environments.RiverSwim.states", range(7))
    assert trajectories.play("RiverSwim", "Ask").split()[0] != before.split()[0]
    assert trajectories.play("RiverSwim", "Ask(cost=0.3)").split()[1] != before.split()[1]


def test_an_environment_can_get_a_new_id(monkeypatch):
    monkeypatch.setitem(registration.VERSIONS, "Loop", 7)
    monkeypatch.setattr(registration, "registry", dict(registration.registry))
    registered = []
    monkeypatch.setattr(registration, "register", lambda name, **_: registered.append(name))
    registration.register_all()
    assert registered == ["monmdp/Loop-v7"]


def test_every_id_is_registered():
    assert {key for key in gymnasium.registry if key.startswith("monmdp/")} >= set(WANTED["environments"])
    assert len(WANTED["environments"]) == len(trajectories.own(monmdp.ENVIRONMENTS))
