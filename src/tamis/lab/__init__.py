"""Laboratory: what the papers describe and the product does not run on, and what measures it.

experiments/    the papers' figures: one folder a paper, one file a figure
measuring/      the harness that measures, writes numbers and draws, for the experiments, `tamis bench` and benchmarks
"""
