"""Expensive operators: functions that filters call, shared between subscriptions and run only where still needed."""
