"""Schedules that walk subscriptions in an order fixed beforehand."""
