"""Apps that act for themselves: apps, their installations and the tokens of these."""
