"""Ours beside what a user would take instead, on real data: one table each."""
