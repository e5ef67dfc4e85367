"""The service under load and under fire: a real `tamis serve`, its own process, spoken to over HTTP."""
