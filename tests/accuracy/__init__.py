"""Programs that measure how right the program is; see docs/accuracy.md."""
