"""What a broker knows: which filters make others superfluous."""
