"""Subscription table: subscriptions that change while streams run, as versions on disk, with their readers and
operators.
"""
