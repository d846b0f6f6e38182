"""Published experiments run again: one module each, with the numbers printed there and ours."""
