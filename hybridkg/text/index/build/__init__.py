"""The builder of the embedded text index: texts in, packed postings out."""
