"""A choice between two computations that stays one where runs are trained side by side.

`jax.vmap` turns `jax.lax.cond` into both computations, of which each run keeps one. Runs of one program usually agree,
and then only what they need is computed.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap


def branch(predicate: jax.Array, true: Callable[..., Any], false: Callable[..., Any], *operands: Any) -> Any:
    """true(*operands) or false(*operands); they must not close over arrays, and must not be differentiated."""

    def choose(predicate: jax.Array, operands: Any) -> Any:
        return jax.lax.cond(predicate, true, false, *operands)

    def choose_for_all(_: int, batched: Any, predicate: jax.Array, operands: Any) -> tuple[Any, Any]:
        axes = tuple(jax.tree.map(lambda own: 0 if own else None, batched[1]))
        all_true, all_false = (jax.vmap(function, axes) for function in (true, false))
        predicates = jnp.atleast_1d(predicate)

        def each(*operands: Any) -> Any:
            def own(one: jax.Array, other: jax.Array) -> jax.Array:
                return jnp.where(predicates.reshape(-1, *[1] * (one.ndim - 1)), one, other)

            return jax.tree.map(own, all_true(*operands), all_false(*operands))

        def some(*operands: Any) -> Any:
            return jax.lax.cond(predicates.any(), each, all_false, *operands)

        results = jax.lax.cond(predicates.all(), all_true, some, *operands)
        return results, jax.tree.map(lambda _: True, results)

    chosen = custom_vmap(choose)
    chosen.def_vmap(choose_for_all)
    return chosen(predicate, operands)
