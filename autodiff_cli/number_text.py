"""Numbers as text with the given count of digits, and sizes in bytes; ``report.array_text`` formats arrays."""

from __future__ import annotations


def number_text(value: float, digits: int = 6) -> str:
    """Return a number with so many significant digits, such as ``0.6``, ``1e+6`` or ``1e-5``."""
    text = f"{float(value) + 0.0:.{digits}g}"  # the sum writes -0 as 0
    return text.replace("e+0", "e+").replace("e-0", "e-") if "e" in text else text


def bytes_text(count: int) -> str:
    """Return ``8 B``, ``1.5 KiB``, ``20 MiB`` or ``3.2 GiB``."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    if unit == "B":
        return f"{count} B"
    has_three_digits = size < 999.5  # from which on three significant digits would be 1e+03
    return f"{size:.3g} {unit}" if has_three_digits else f"{size:,.0f} {unit}"
