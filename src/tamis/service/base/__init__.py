"""Base of the service: settings; event bodies, notifications and cursors; operators, algorithms and schema it matches
by.
"""
