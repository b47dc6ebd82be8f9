"""Training of neural models: the trainer, its checkpoints, and the tasks of bi-encoders."""
