"""Programs for rows: their outputs, and their evaluation row by row."""
