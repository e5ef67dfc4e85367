"""Join subscriptions: changes of tables in, changes of join results out, by nine schemes (Chandramouli & Yang 2008)."""
