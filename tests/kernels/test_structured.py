"""Kernels of strings and sets against brute force over pieces, tuples and pairs."""

import pickle
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from mercer import kernels
from mercer.kernels import (
    Gaussian,
    Linear,
    Matern,
    Multiquadric,
    ObjectKernel,
    Precomputed,
    SetKernel,
    Sigmoid,
    StringSpectrum,
    Subsequence,
)
from mercer.kernels.structured import StringKernel

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)
WORDS = ["banana", "ananas", "kiwi", "", "an", "bandana", "iwki"]
SETS = [RNG.normal(size=(size, 2)) for size in (1, 3, 3, 5, 2)]
KERNELS = [
    StringSpectrum(2),
    StringSpectrum(1, normalize=False),
    Subsequence(2, 0.7),
    Subsequence(3, 1.0, normalize=False),
]
SET_KERNELS = [
    SetKernel(Gaussian(0.8)),
    SetKernel(Gaussian(0.8), average=False),
    SetKernel(Matern([0.5, 1.5]), normalize=True),
    SetKernel(Linear() + Gaussian(), average=False, normalize=True),
]
CASES = [*((k, WORDS) for k in KERNELS), *((k, SETS) for k in SET_KERNELS)]


def array_of(items):
    X = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        X[i] = item
    return X


@pytest.mark.parametrize(
    ("kernel", "items"), CASES, ids=lambda v: repr(v) if not isinstance(v, list) else ""
)
def test_what_holds_for_every_kernel_holds_for_objects(kernel, items):
    K = kernel(items)
    assert K.shape == (len(items), len(items))
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), kernel.diag(items))
    np.testing.assert_allclose(kernel(items, items), K, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(kernel(array_of(items)), K)
    np.testing.assert_array_equal(kernel(array_of(items)[:, None]), K)
    np.testing.assert_allclose(kernel.against(items[:3])(items), K[:, :3], rtol=1e-14, atol=1e-14)
    out = np.empty_like(K)
    assert kernel.against(items)(items, out=out) is out
    np.testing.assert_allclose(out, K, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(kernel.paired(items, items), K.diagonal(), rtol=1e-14)
    np.testing.assert_allclose(kernel.paired(items[1:], items[:-1]), K.diagonal(1), rtol=1e-14)
    assert np.linalg.eigvalsh(K)[0] >= -len(K) * EPS * np.linalg.norm(K, 2)
    assert not kernel.numeric
    assert kernel.positive_definite
    assert pickle.loads(pickle.dumps(kernel)) == clone(kernel) == kernel
    assert eval(repr(kernel), {name: getattr(kernels, name) for name in kernels.__all__}) == kernel
    both = 2.0 * kernel + kernel
    np.testing.assert_allclose(both(items), 3.0 * K, rtol=1e-14)
    np.testing.assert_allclose((kernel * kernel)(items, items[:2]), K[:, :2] ** 2, rtol=1e-13)
    if kernel.normalize:
        assert set(kernel.diag(items)) <= {0.0, 1.0}


def pieces(word, n):
    return [word[i : i + n] for i in range(len(word) - n + 1)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_spectrum_kernel_counts_common_pieces(n):
    exact = [
        [sum(u == v for u, v in product(pieces(x, n), pieces(z, n))) for z in WORDS] for x in WORDS
    ]
    kernel = StringSpectrum(n, normalize=False)
    np.testing.assert_array_equal(kernel(WORDS), exact)
    assert kernel.compare(kernel.represent("banana"), kernel.represent("ananas")) == exact[0][1]


def test_the_spectrum_kernel_is_the_product_of_scikit_learns_counts():
    counts = CountVectorizer(analyzer="char", ngram_range=(2, 2)).fit_transform(WORDS)
    exact = (counts @ counts.T).toarray()
    np.testing.assert_array_equal(StringSpectrum(2, normalize=False)(WORDS), exact)


def subsequences(x, z, n, decay):
    """All pairs of increasing tuples of places that show the same piece."""
    total = 0.0
    for i in combinations(range(len(x)), n):
        for j in combinations(range(len(z)), n):
            if all(x[a] == z[b] for a, b in zip(i, j, strict=True)):
                total += decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
    return total


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("decay", [0.3, 1.0])
def test_the_subsequence_kernel_sums_over_all_pieces_with_gaps(n, decay):
    exact = [[subsequences(x, z, n, decay) for z in WORDS] for x in WORDS]
    found = Subsequence(n, decay, normalize=False)(WORDS)
    np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-16)


def test_cat_and_car_as_printed():
    # Lodhi et al., sec. 2: decay^4 / (2 decay^4 + decay^6) after normalization.
    decay = 0.6
    value = Subsequence(2, decay)(["cat"], ["car"])[0, 0]
    assert value == pytest.approx(1 / (2 + decay**2), rel=1e-13)


def test_sequences_of_other_symbols():
    tokens = [("the", "cat", "sat"), ("the", "cat"), ("cat", "the")]
    np.testing.assert_array_equal(
        StringSpectrum(2, normalize=False)(tokens), [[2, 1, 0], [1, 1, 0], [0, 0, 1]]
    )
    exact = [[subsequences(x, z, 2, 0.5) for z in tokens] for x in tokens]
    np.testing.assert_allclose(Subsequence(2, normalize=False)(tokens), exact, rtol=1e-14)
    numbers = [[1, 2, 3, 1], [1, 3]]
    exact = [[subsequences(x, z, 2, 0.5) for z in numbers] for x in numbers]
    np.testing.assert_allclose(Subsequence(2, normalize=False)(numbers), exact, rtol=1e-14)


@pytest.mark.parametrize("normalize", [True, False])
def test_the_derivative_by_the_decay(normalize):
    h = 1e-5
    kernel = Subsequence(2, 0.6, normalize)
    up, down = Subsequence(2, 0.6 + h, normalize), Subsequence(2, 0.6 - h, normalize)
    # Third derivatives of polynomials of degree 12 in the decay are below 1e4: h^2 / 6 of them.
    for Z in (None, WORDS[:3]):
        quotient = (up(WORDS, Z) - down(WORDS, Z)) / (2 * h)
        found = kernel.gradient(WORDS, Z)["decay"]
        np.testing.assert_allclose(found, quotient, rtol=0, atol=2e-7)


@pytest.mark.parametrize("average", [True, False])
def test_sets_are_summed_over_pairs_of_elements(average):
    one = Gaussian(0.8)
    exact = [[np.mean(one(a, b)) if average else np.sum(one(a, b)) for b in SETS[:3]] for a in SETS]
    kernel = SetKernel(one, average)
    np.testing.assert_allclose(kernel(SETS, SETS[:3]), exact, rtol=1e-13)
    same_size = np.stack([SETS[1], SETS[2]])
    np.testing.assert_allclose(kernel(same_size), kernel(SETS[1:3]), rtol=1e-14)


def test_the_distance_of_means_is_the_discrepancy():
    """Squared distance in feature space: that of the means, for the linear kernel."""
    K = SetKernel(Linear())(SETS)
    means = np.array([a.mean(axis=0) for a in SETS])
    np.testing.assert_allclose(K, means @ means.T, rtol=1e-12, atol=1e-13)


def test_sets_of_strings():
    inner = StringSpectrum(1)
    sets = [["ab", "b"], ["abc"]]
    exact = [[np.mean(inner(a, b)) for b in sets] for a in sets]
    kernel = SetKernel(inner)
    np.testing.assert_allclose(kernel(sets), exact, rtol=1e-14)
    assert kernel.domain == "sets of strings"


@pytest.mark.parametrize("kernel", SET_KERNELS, ids=repr)
def test_derivatives_of_set_kernels(kernel):
    h = 1e-5
    for Z in (None, SETS[:2]):
        for name, found in kernel.gradient(SETS, Z).items():
            value = np.asarray(kernel.get_params()[name], dtype=float)
            for slot in np.ndindex(value.shape):
                matrices = []
                for step in (h, -h):
                    moved = value.copy()
                    moved[slot] += step
                    matrices.append(clone(kernel).set_params(**{name: moved.tolist()})(SETS, Z))
                quotient = (matrices[0] - matrices[1]) / (2 * h)
                # h^2 / 6 of third derivatives below 100, summed over at most 25 pairs.
                np.testing.assert_allclose(found[(..., *slot)], quotient, rtol=0, atol=5e-8)


def test_definiteness_follows_the_kernel_of_elements():
    assert not SetKernel(Sigmoid()).positive_definite


@dataclass(eq=False)
class Length(ObjectKernel):
    """The smallest kernel of one's own."""

    def compare(self, a, b):
        return min(len(a), len(b))


def test_a_kernel_of_ones_own():
    np.testing.assert_array_equal(Length()(["a", "bcd"], [[1, 2]]), [[1.0], [2.0]])
    np.testing.assert_array_equal(Length().diag(["a", "bcd"]), [1.0, 3.0])
    assert Length().domain == "objects"
    assert Length()([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: StringSpectrum(0), "at least 1"),
        (lambda: Subsequence(1.5), "integer"),
        (lambda: Subsequence(decay=0.0), "positive and at most 1"),
        (lambda: StringSpectrum()("word"), "list of strings"),
        (lambda: SetKernel("rbf"), "Kernel of elements"),
        (lambda: SetKernel(Precomputed()), "Kernel of elements"),
        (lambda: SetKernel(Multiquadric()), "conditionally positive definite"),
        (lambda: SetKernel(Gaussian())([np.empty((0, 2))]), "without elements"),
        (lambda: SetKernel(Gaussian())([[]]), "without elements"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_domains():
    assert StringSpectrum().domain == "strings"
    assert issubclass(Subsequence, StringKernel)
