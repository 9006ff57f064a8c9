"""The writer of sums and means over rows, which are written by the writer of the output format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from autodiff_cli.data.row_blocks import Block, OutputStyle, Reader, Results, Writer
from autodiff_cli.data.totals import Totals
from autodiff_cli.errors import NotFiniteError, setting


class TotalsWriter(Writer):
    """The writer of one row for each group; ``rows`` is the writer of the output format."""

    text = True

    def __init__(self, style: OutputStyle, rows: Writer) -> None:
        super().__init__(style)
        self._rows = rows

    def begin(self, file: BinaryIO, copies: Sequence[str], results: Sequence[str], source: Reader) -> None:
        super().begin(file, copies, results, source)
        self._totals = Totals(len(results))
        self._rows.begin(file, copies, results, source)

    def encode(self, block: Block, results: Results) -> Totals:
        """Return the totals of a block."""
        return Totals.from_block(block, results)

    def write(self, encoded: Totals) -> None:
        """Add totals."""
        self._totals.add(encoded)

    def finish(self) -> None:
        """Round the totals and write them; with ``style.strict``, a total that is not finite raises ``NotFiniteError``."""
        for block, totals in self._totals.results(mean=self._style.total == "mean"):
            if self._style.strict:
                self._check_finite(totals)
            self._rows.write(self._rows.encode(block, totals))
        self._rows.finish()

    def _check_finite(self, totals: Results) -> None:
        """Raise ``NotFiniteError`` if the total of a result is not finite in a group."""
        for name, array in zip(self._results, totals, strict=True):
            wrong = array[~np.isfinite(array)]
            if len(wrong):
                hint = f"drop {setting('strict')} to accept nan and inf"
                raise NotFiniteError(f"the {self._style.total} of {name} is {wrong[0]}", hint=hint)

    def close(self) -> None:
        self._rows.close()
