"""Descriptions that speak of several selection attributes a table (App. C): skyline envelopes.

For shapes that consider more than one attribute (`Shape.considered`). The aggressive way: nothing reaches a client that
it has no use for. The other way, one attribute for descriptions and the rest left to clients, is faster by far.
"""
