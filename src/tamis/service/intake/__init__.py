"""Intake of events: bodies in any format to JSON texts, checked at the door; limits of callers; and error answers
(problem details).
"""
