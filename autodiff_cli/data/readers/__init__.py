"""The readers of all input formats; see ``data.row_blocks.Reader``."""
