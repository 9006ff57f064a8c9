"""Inputs that a person would not type, in numbers that a person would not type."""
