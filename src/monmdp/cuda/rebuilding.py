"""The device function that rebuilds a named tuple from a row; see `views`."""

from __future__ import annotations

from typing import Any

from numba import cuda

from monmdp.cuda.intrinsics import located, matrix_at, vector_at
from monmdp.cuda.views import Schema, rebuilding


def rebuild_function(schema: Schema) -> Any:
    """(words, floats, near) → the tuple."""
    source, names = rebuilding(schema)
    room: dict[str, Any] = {**names, "vector_at": vector_at, "matrix_at": matrix_at, "located": located}
    exec(compile(source, "<views>", "exec"), room)
    return cuda.jit(device=True)(room["rebuild"])
