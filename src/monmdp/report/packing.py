"""Numbers and names on their way into the page: compact arrays, and JSON that cannot leave its script element."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

#: Steps of a quantised array: those of an unsigned 16-bit number.
LEVELS = 2**16 - 1

#: Characters with which a text could end a script element or, in old browsers, a line of a script.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def pack(values: npt.ArrayLike) -> dict[str, Any]:
    """Base64 of little-endian numbers: floats in 32 bits, whole numbers ≥ 0 in as few bytes as they need."""
    found = np.asarray(values)
    kind = "f4" if found.dtype.kind == "f" else _unsigned(int(found.max(initial=0)))
    return {"type": kind, "data": base64.b64encode(found.astype(f"<{kind}").tobytes()).decode()}


def pack_widths(values: npt.ArrayLike) -> dict[str, Any] | None:
    """Widths ≥ 0 in 65,535 steps of the largest, enough for a band; unknown ones as 0, None if all are."""
    found = np.nan_to_num(np.asarray(values, np.float64))
    largest = float(found.max(initial=0.0))
    if largest == 0.0:
        return None
    return {**pack(np.rint(found / largest * LEVELS).astype(np.int64)), "scale": largest / LEVELS}


def _unsigned(largest: int) -> str:
    return next(kind for kind, bits in (("u1", 8), ("u2", 16), ("u4", 32)) if largest < 2**bits)


def number(value: float) -> float | None:
    """A number as JSON knows it: None unless it is finite."""
    return float(value) if math.isfinite(value) else None


def script_json(value: Any) -> str:
    """JSON that is safe between script tags, whatever the names in it are."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
