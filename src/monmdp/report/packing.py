"""Values for the page: compact arrays, and JSON that is safe inside a script element."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

#: The largest unsigned 16-bit number: levels of a quantised array.
LEVELS = 2**16 - 1

#: Characters that could end a script element or, in old browsers, a line of a script.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def pack(values: npt.ArrayLike) -> dict[str, Any]:
    """Base64 of little-endian numbers: floats in 32 bits, integers ≥ 0 in the fewest bytes that hold them."""
    array = np.asarray(values)
    kind = "f4" if array.dtype.kind == "f" else np.min_scalar_type(int(array.max(initial=0))).str[1:]
    return {"type": kind, "data": base64.b64encode(array.astype(f"<{kind}").tobytes()).decode()}


def pack_widths(values: npt.ArrayLike) -> dict[str, Any] | None:
    """Widths ≥ 0 of a band, quantised to 65,535 levels of the largest; NaN becomes 0. None if all are 0."""
    widths = np.nan_to_num(np.asarray(values, np.float64))
    largest = float(widths.max(initial=0.0))
    if largest == 0.0:
        return None
    return {**pack(np.rint(widths / largest * LEVELS).astype(np.int64)), "scale": largest / LEVELS}


def number(value: float) -> float | None:
    """A number as JSON allows it: None unless it is finite."""
    return float(value) if math.isfinite(value) else None


def script_json(value: Any) -> str:
    """JSON that is safe between script tags, whatever names it contains."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
