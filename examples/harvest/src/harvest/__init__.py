"""What the yield of a plot is learnt with; rides inside the pushed notebook."""
