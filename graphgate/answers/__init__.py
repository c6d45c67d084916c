"""Answers from embeddings: what is similar, what belongs together, which class, which links."""
