"""Benchmarks and proofs that anyone can repeat: `uv run python -m bench NAME`."""
