"""What was learned -> files: embeddings, attention, reconstructions, and whole runs."""
