"""Features, maps and curves without labels: kernel PCA, quantizers, principal manifolds."""

from mercer.manifold.kernel_pca import KernelPCA
from mercer.manifold.projection_pursuit import KernelProjectionPursuit
from mercer.manifold.sparse_features import SparseKernelFeatures

__all__ = [
    "KernelPCA",
    "KernelProjectionPursuit",
    "SparseKernelFeatures",
]
