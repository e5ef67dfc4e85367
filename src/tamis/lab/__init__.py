"""Laboratory: algorithms of the papers that the product does not run on, simulators, and the measured figures.

Registries of the product name the matchers and schedules here by dotted path, and load one when it is asked for
(`matcher="tree"`, `schedule="sub-order"`). Nothing in the product imports this room.

le_subscribe/   the matchers of Le Subscribe (Fabret et al.): counting, clustering and their rivals
tree/           Gryphon's matching tree (Aguilera et al. 1999)
diagrams/       modified binary decision diagrams (Li, Hou and Jacobsen 2005)
schedules/      orders of expensive predicates: naive, sequential, Sub-Order (Liu et al. 2007), and lower bounds
networks/       content-driven networks of zones (CAN) and of filtering links (Chandramouli and Yang 2008)
simulation/     network traffic of join schemes on such networks
comparison/     benchmarks of matchers side by side, each in a process of its own
experiments/    the papers' figures: one folder a paper, one file a figure
measuring.py    figures, claims, verdicts and plots; timing.py: timing, and numbers written for people
"""
