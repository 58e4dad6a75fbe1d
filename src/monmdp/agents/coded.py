"""DirectedModel on codes c(s) of states: states with the same code are one state to the agent."""

from typing import Any

import numpy as np

from monmdp.agents import directed_model
from monmdp.agents.arrays import array_tuple
from monmdp.agents.base import Transition
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Integers
from monmdp.world import World

CodedMemory: Any = array_tuple(
    __name__,
    "CodedMemory",
    "Q̂ and visits of states, the code of every state, and the agent's own memory over codes.",
    q="float states actions",
    visits="int pairs",
    code="int states",
    own=directed_model.DirectedModelMemory,
)


@kernel
def act_coded(memory, state, draws):
    """The action for the code of a state."""
    return directed_model.act_directed_model(memory.own, memory.code[state], draws)


@kernel
def update_coded(memory, transition):
    """Learn from a step between codes."""
    own, state = memory.own, memory.code[transition.state]
    pair = state * memory.q.shape[1] + transition.action
    own.visits[pair] += 1
    seen = Transition(
        transition.step, state, transition.action, own.model.env_pair[pair], memory.code[transition.next_state],
        transition.terminated, transition.proxy_reward, transition.monitor_reward,
    )  # fmt: skip
    directed_model.update_directed_model(own, seen)


@inlined
def begin_coded(memory, state, step):
    """An episode begins at a code."""
    directed_model.begin_directed_model(memory.own, memory.code[state], step)


@inlined
def plan_coded(memory, step):
    """Plan the values of codes, which are those of their states."""
    directed_model.plan_directed_model(memory.own, step)
    for state in range(len(memory.code)):
        memory.q[state] = memory.own.q[memory.code[state]]


@inlined
def beta_coded(memory, step):
    """β of the pairs of codes."""
    return directed_model.beta_directed_model(memory.own, step)


def coded_memory(agent: directed_model.DirectedModel, world: World, env_codes: Integers, steps: int, seed: int) -> Any:
    """The memory of DirectedModel on codes; env_codes [environment states]: 0, 1, … in order of first occurrence."""
    joint = env_codes[world.env_state] * world.n_monitor_states + world.monitor_state
    _, firsts, inverse = np.unique(joint, return_index=True, return_inverse=True)
    order = np.argsort(firsts)  # states in which the agent can act stay first
    code, kept = np.argsort(order)[inverse], np.sort(firsts)
    n_codes = int(env_codes.max()) + 1
    merged = world._replace(
        env_state=env_codes[world.env_state[kept]].astype(np.int32),
        monitor_state=world.monitor_state[kept],
        n_states=len(kept),
        n_acting_states=int((kept < world.n_acting_states).sum()),
        n_env_states=n_codes,
        n_env_pairs=world.n_env_pairs // world.n_env_states * n_codes,
    )
    shape = world.n_states, world.n_actions
    visits = np.zeros(shape[0] * shape[1], np.int64)
    return CodedMemory(np.zeros(shape), visits, code.astype(np.int64), agent.memory(merged, steps, seed))
