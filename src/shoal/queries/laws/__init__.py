"""Which noise an answer gets, and exactly what it costs."""
