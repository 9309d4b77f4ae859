"""What candidates are chosen by: how much each row has against each of them."""
