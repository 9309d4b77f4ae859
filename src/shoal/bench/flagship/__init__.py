"""The flagship's own experiment: KMeans against the best of our others, on tables nobody tuned on too."""
