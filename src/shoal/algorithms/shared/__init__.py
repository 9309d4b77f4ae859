"""What several algorithms need: their result, the number of rows, bounds, an error analysis, swaps."""
