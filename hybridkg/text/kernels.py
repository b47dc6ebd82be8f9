"""The compiled kernels of text search are loaded as all of them are: hybridkg.kernels."""

from hybridkg.kernels import PATIENCE, LazyKernel

__all__ = ["PATIENCE", "LazyKernel"]
