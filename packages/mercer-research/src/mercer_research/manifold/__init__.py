"""Research: may change without notice.

Clusters and planes under any cost, directions of projection pursuit, sparse kernel features.
"""

from mercer_research.manifold.noisy_channel import NoisyDistortion, noisy_distortion
from mercer_research.manifold.planes import KPlanes, PrincipalPlane
from mercer_research.manifold.projection_pursuit import KernelProjectionPursuit
from mercer_research.manifold.sparse_features import SparseKernelFeatures
from mercer_research.manifold.vector_quantizer import VectorQuantizer

__all__ = [
    "KPlanes",
    "KernelProjectionPursuit",
    "NoisyDistortion",
    "PrincipalPlane",
    "SparseKernelFeatures",
    "VectorQuantizer",
    "noisy_distortion",
]
