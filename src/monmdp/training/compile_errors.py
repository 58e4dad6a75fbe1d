"""Explains in one sentence why a kernel of a user's agent does not compile."""

import re
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from monmdp.agents.base import Transition
from monmdp.agents.choices import Draws
from monmdp.errors import MonMDPError, nearest, shown
from monmdp.registry import is_built_in


def explained(agent: Any, memory: Any, error: Exception) -> MonMDPError | None:
    """What in the class of a user does not compile, in one sentence; None if everything does."""
    if is_built_in(agent):
        return None
    for field, value in memory._asdict().items():
        try:
            numba.typeof(value)
        except Exception:
            return MonMDPError(
                f"The memory of {agent.__name__} has a field {field!r} that compiled code cannot use, "
                f"{shown(value)}; use numbers, arrays and named tuples of them."
            )
    transition, step = Transition(0, 0, 0, 0, 0, False, 0.0, 0.0), np.int64(0)
    arguments = {"begin": (step, step), "act": (step, Draws(np.uint64(0), 0)), "update": (transition,)}
    for name, values in {**arguments, "plan": (step,), "beta": (step,)}.items():
        function = getattr(agent, name)
        try:
            function.compile(tuple(map(numba.typeof, (memory, *values))))
        except Exception as reason:
            return _uncompiled(agent, name, memory, reason)
        returned = function.nopython_signatures[-1].return_type
        if name == "act" and not (isinstance(returned, numba.types.BaseTuple) and len(returned) == 2):
            return MonMDPError(f"act of {agent.__name__} must return (action, exploring).")
    return _uncompiled(agent, "a kernel", memory, error) if isinstance(error, NumbaError) else None


def _uncompiled(agent: Any, name: str, memory: Any, error: Exception) -> MonMDPError:
    """The core of a message of the compiler."""
    lines = [line.strip() for line in str(error).splitlines()]
    core = next((line for line in lines if line and not line.startswith("Failed in")), type(error).__name__)
    core, advice = core.rstrip(".:"), ""
    call = next((line.removeprefix(">>>") for line in lines if line.startswith(">>>")), "")
    places = re.findall(r"line (\d+)", str(error))
    if match := re.match(r"Untyped global name '(\w+)': Cannot determine Numba type of <class 'function'>", core):
        core, advice = f"it calls {match[1]}, which is not compiled", f" Write @monmdp.kernel above {match[1]}."
    elif match := re.match(rf"Unknown attribute '(\w+)' of type {type(memory).__name__}\(", core):
        core, advice = f"its memory has no field {match[1]!r}", f" {nearest(match[1], memory._fields)}"
        if match[1] in agent.__dataclass_fields__:
            advice = " An option of this type cannot be used in compiled code; numbers, text and arrays can."
    where = f" (line {places[-1]})" if places else ""
    return MonMDPError(f"{name} of {agent.__name__} cannot be compiled{where}: {core}{call}.{advice}")
