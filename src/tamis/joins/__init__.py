"""The joins room: subscriptions that select from several tables joined with each other (Chandramouli & Yang 2008)."""
