"""From text to terms."""
