"""Ratios against rivals and yardsticks, measured in one run: `python -m benchmarks [line ...]`."""
