"""The service: HTTP in front, a durable store and an event log behind, Spark between, and delivery out.

One process serves requests and delivers; a child of it owns Spark. Both start with `tamis serve`.
"""
