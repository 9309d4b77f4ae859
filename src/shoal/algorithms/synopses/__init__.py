"""Released places with noisy weights, what makes them, and what can be asked of them for free."""
