"""Laboratory: what the papers describe and the product does not run on, and what measures it.

Registries of the product name the matchers and schedules here by dotted path, and load one when it is asked for
(`matcher="tree"`, `schedule="sub-order"`). Nothing in the product imports this room.

le_subscribe/   the matchers of Le Subscribe (Fabret et al.), one file an algorithm
tree/           Gryphon's matching tree (Aguilera et al. 1999)
diagrams/       decision diagrams that share nodes (Li, Hou and Jacobsen 2005)
schedules/      orders of expensive predicates: naive, sequential, Sub-Order (Liu et al. 2007), and lower bounds
networks/       content-driven networks of zones and of links (Chandramouli and Yang 2008)
simulation/     what such a network would cost
comparison/     matchers measured beside each other
experiments/    the papers' figures: one folder a paper, one file a figure
measuring/      the harness that measures, writes numbers and draws, for the experiments, `tamis bench` and benchmarks
"""
