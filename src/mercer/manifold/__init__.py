"""Features, maps and curves without labels: kernel PCA, quantizers, principal manifolds."""

from mercer.manifold.kernel_pca import KernelPCA

__all__ = ["KernelPCA"]
