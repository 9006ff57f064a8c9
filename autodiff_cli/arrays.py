"""Names of arrays in annotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Stack = NDArray[np.float64]
"""Several matrices."""
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
