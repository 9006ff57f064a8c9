"""Names of arrays in annotations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
"""float64 or float32."""
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Stack = NDArray[np.float64]
"""Several matrices."""
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
