"""For each of many filters one that covers it: candidates found by an index, decided on facts."""
