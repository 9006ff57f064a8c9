"""Lessons: pages that play a forward and a backward pass, step by step, in a browser."""
