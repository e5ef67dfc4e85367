"""What no schedule can beat: exact optima of small problems, lower bounds of large ones."""
