"""What is summed in a cell, and the body that one row's change lies in."""
