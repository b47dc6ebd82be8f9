"""Settings of a knowledge base (`kb.toml`) and bounded TOML reading."""
