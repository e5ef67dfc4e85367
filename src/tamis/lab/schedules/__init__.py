"""Schedules of expensive predicates (Liu et al. 2007): Sub-Order, Sequential and naive; counts of their evaluations,
and lower bounds.
"""
