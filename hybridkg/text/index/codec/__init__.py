"""The posting codec: bit-packed blocks of 128 postings, and cursors over them."""
