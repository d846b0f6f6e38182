"""The compiled loop once more in plain NumPy: slow, obvious, without shrinking."""

import itertools

import numpy as np

FLAT = 1e-12


def derivatives(F, a, t):
    """Return the derivatives upwards and downwards, infinite where the box forbids the move."""
    right = F + t.p_pos + t.q_pos * a
    left = F + t.p_neg + t.q_neg * a
    up = np.where(a < t.upper, np.where(a >= 0, right, left), np.inf)
    down = np.where(a > t.lower, np.where(a > 0, right, left), -np.inf)
    return up, down


def line_minimum(objective, room, breaks):
    """Minimize a convex piecewise quadratic on [0, room] by looking at every piece."""
    ends = sorted({0.0, room, *[t for t in breaks if 0 < t < room]})
    best_t, best = 0.0, objective(0.0)
    for left, right in itertools.pairwise(ends):
        # Fit the parabola of this piece through three of its points.
        right = min(right, left + 1e6)
        middle = 0.5 * (left + right)
        f0, f1, f2 = objective(left), objective(middle), objective(right)
        h = middle - left
        curvature, slope = (f2 - 2 * f1 + f0) / h**2, (4 * f1 - f2 - 3 * f0) / (2 * h)
        candidates = [left, right]
        if curvature > 0:
            candidates.append(float(np.clip(left - slope / curvature, left, right)))
        for t in candidates:
            if objective(t) < best:
                best_t, best = t, objective(t)
    return best_t


def dual(K, a, t):
    """Return the dual objective that decomposition minimizes."""
    g = np.where(a >= 0, t.p_pos * a + 0.5 * t.q_pos * a**2, t.p_neg * a + 0.5 * t.q_neg * a**2)
    return 0.5 * a @ K @ a + g.sum()


def pair_steps(K, a, t, group, n_groups, tol, max_iter):
    """Run second-order pair steps; return coefficients and the number of steps."""
    a = a.copy()
    for step in range(max_iter):
        F = K @ a
        up, down = derivatives(F, a, t)
        spans = [down[group == g].max() - up[group == g].min() for g in range(n_groups)]
        g = int(np.argmax(spans))
        if spans[g] <= tol:
            return a, step
        inside = group == g
        i = int(np.flatnonzero(inside)[np.argmin(up[inside])])
        q_i = t.q_pos[i] if a[i] >= 0 else t.q_neg[i]
        q_j = np.where(a > 0, t.q_pos, t.q_neg)
        eta = np.maximum(K[i, i] + np.diag(K) - 2 * K[i] + q_i + q_j, FLAT)
        gain = np.where(inside & (down > up[i]), (down - up[i]) ** 2 / eta, -1.0)
        j = int(np.argmax(gain))
        direction = np.zeros_like(a)
        direction[i], direction[j] = 1.0, -1.0
        room = min(t.upper[i] - a[i], a[j] - t.lower[j])
        room = min(room, 1e6)
        move = line_minimum(lambda s, a=a, d=direction: dual(K, a + s * d, t), room, [-a[i], a[j]])
        a = a + move * direction
        a = np.where(np.abs(a) < 1e-13, 0.0, np.clip(a, t.lower, t.upper))
    return a, max_iter
