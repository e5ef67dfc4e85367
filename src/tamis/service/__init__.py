"""HTTP service: publish, subscribe and administer over HTTP, with a store, an event log, matching on Spark, and
delivery.

One process serves requests and delivers notifications. Its child process owns Spark. `tamis serve` starts both.
"""
