"""Features, maps and curves without labels: kernel PCA, quantizers, principal manifolds."""

from mercer.manifold.choosing import PrincipalManifoldCV
from mercer.manifold.curve import PrincipalCurve
from mercer.manifold.distortions import HuberDistortion
from mercer.manifold.generative import GenerativeTopographicMap
from mercer.manifold.kernel_pca import KernelPCA
from mercer.manifold.latent import Circle, Grid, Interval
from mercer.manifold.planes import KPlanes, PrincipalPlane
from mercer.manifold.principal_manifold import PrincipalManifold
from mercer.manifold.projection_pursuit import KernelProjectionPursuit
from mercer.manifold.sparse_features import SparseKernelFeatures
from mercer.manifold.vector_quantizer import VectorQuantizer

__all__ = [
    "Circle",
    "GenerativeTopographicMap",
    "Grid",
    "HuberDistortion",
    "Interval",
    "KPlanes",
    "KernelPCA",
    "KernelProjectionPursuit",
    "PrincipalCurve",
    "PrincipalManifold",
    "PrincipalManifoldCV",
    "PrincipalPlane",
    "SparseKernelFeatures",
    "VectorQuantizer",
]
