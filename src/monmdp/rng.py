"""Counter-based random streams keyed by (seed, role, index), in plain Python.

A draw is a hash of its key and index, so a stream does not depend on draws from other streams. The hash is
SplitMix64's finaliser over a Weyl sequence; `kernels.random` is the compiled version.
"""

import math

from monmdp import check

WORD = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15
MULTIPLIER_1 = 0xBF58476D1CE4E5B9
MULTIPLIER_2 = 0x94D049BB133111EB

#: Purposes of streams. Their order determines every trajectory: only append.
ROLES = (
    "start", "world", "observe", "noise", "agent", "reward model", "hidden pairs", "evaluation", "problem", "options",
)  # fmt: skip


def mix(word: int) -> int:
    """Hash 64 bits."""
    word = ((word ^ (word >> 30)) * MULTIPLIER_1) & WORD
    word = ((word ^ (word >> 27)) * MULTIPLIER_2) & WORD
    return word ^ (word >> 31)


def stream(seed: int, role: str) -> int:
    """The key of the stream for a seed and a role."""
    return mix((mix((check.seed(seed) + GOLDEN) & WORD) + (ROLES.index(role) + 1) * GOLDEN) & WORD)


def uniform(key: int, index: int) -> float:
    """Draw number `index` of a stream, uniform in [0, 1); also for an array of uint64 indices."""
    return (mix((key + (index + 1) * GOLDEN) & WORD) >> 11) * 2.0**-53


def normal(key: int, index: int) -> float:
    """Draw number `index` of a stream, standard normal (Box–Muller transform)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 2 * index)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 2 * index + 1))
