"""Research: may change without notice.

Clusters and planes under any cost, directions of projection pursuit, sparse kernel features;
generative topographic maps, and principal manifolds chosen by folds or started by annealing.
"""

from mercer_research.manifold.annealing import annealed_coordinates
from mercer_research.manifold.generative_topographic_map import GenerativeTopographicMap
from mercer_research.manifold.noisy_channel import NoisyDistortion, noisy_distortion
from mercer_research.manifold.planes import KPlanes, PrincipalPlane
from mercer_research.manifold.principal_manifold_cv import PrincipalManifoldCV
from mercer_research.manifold.projection_pursuit import KernelProjectionPursuit
from mercer_research.manifold.sparse_features import SparseKernelFeatures
from mercer_research.manifold.vector_quantizer import VectorQuantizer

__all__ = [
    "GenerativeTopographicMap",
    "KPlanes",
    "KernelProjectionPursuit",
    "NoisyDistortion",
    "PrincipalManifoldCV",
    "PrincipalPlane",
    "SparseKernelFeatures",
    "VectorQuantizer",
    "annealed_coordinates",
    "noisy_distortion",
]
