"""The reward model R̂(o_E, a_E), learned only from observed rewards.

loss = mean of H(two-hot(r_E), R̂(o_E, a_E)) over observed rewards
R̂ of a pair (code, a_E) whose reward was never observed is the lower bound of rewards
"""

import jax
import jax.numpy as jnp

from monmdp.deep.networks import Layers
from monmdp.deep.values import q_loss, value_of


def modelled_rewards(
    layers: Layers, pictures: jax.Array, actions: jax.Array, seen: jax.Array, lowest: jax.Array, bins: jax.Array
) -> jax.Array:
    """R̂ [n] of pictures and environment actions [n]; seen [n]: whether that reward was ever observed."""
    return jnp.where(seen, value_of(layers, pictures, actions, bins), lowest)


#: The same as the loss of Q, with observed rewards as targets.
reward_loss = q_loss
