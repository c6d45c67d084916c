"""Spatial omics: AnnData in, embeddings, attention and domains in the same AnnData."""
