"""The compiled loop once more in plain NumPy: slow, obvious, without working sets."""

from types import SimpleNamespace

import numpy as np

FLAT = 1e-12
NAMES = ("p_pos", "p_neg", "q_pos", "q_neg", "lower", "upper")


def derivatives(F, a, t):
    """Return the derivatives upwards and downwards, infinite where the box forbids the move."""
    right = F + t.p_pos + t.q_pos * a
    left = F + t.p_neg + t.q_neg * a
    up = np.where(a < t.upper, np.where(a >= 0, right, left), np.inf)
    down = np.where(a > t.lower, np.where(a > 0, right, left), -np.inf)
    return up, down


def line_minimum(objective, room):
    """Minimize a parabola on [0, room], known by three of its values."""
    h = 0.5 * room
    f0, f1, f2 = objective(0.0), objective(h), objective(room)
    curvature, slope = (f2 - 2 * f1 + f0) / h**2, (4 * f1 - f2 - 3 * f0) / (2 * h)
    candidates = [0.0, room]
    if curvature > 0:
        candidates.append(float(np.clip(-slope / curvature, 0.0, room)))
    return min(candidates, key=objective)


def dual(K, a, t):
    """Return the dual objective that decomposition minimizes."""
    g = np.where(a >= 0, t.p_pos * a + 0.5 * t.q_pos * a**2, t.p_neg * a + 0.5 * t.q_neg * a**2)
    return 0.5 * a @ K @ a + g.sum()


def with_phantom(K, a, t, group):
    """Append a coefficient to those in no group: free, without cost and without kernel values."""
    ends = {"lower": -np.inf, "upper": np.inf}
    t = SimpleNamespace(**{k: np.append(getattr(t, k), ends.get(k, 0.0)) for k in NAMES})
    return np.pad(K, (0, 1)), np.append(a, 0.0), t, np.append(group, -1)


def pair_steps(K, a, t, group, n_groups, tol, max_iter):
    """Run second-order pair steps; return coefficients and the number of steps."""
    n = len(a)
    K, a, t, group = with_phantom(K, a, t, group)
    kinked = (t.p_pos != t.p_neg) | (t.q_pos != t.q_neg)
    for step in range(max_iter):
        F = K @ a
        up, down = derivatives(F, a, t)
        groups = range(-1, n_groups)
        spans = [
            np.max(down, where=group == g, initial=-np.inf)
            - np.min(up, where=group == g, initial=np.inf)
            for g in groups
        ]
        inside = group == groups[int(np.argmax(spans))]
        if max(spans) <= tol:
            return a[:n], step
        i = int(np.flatnonzero(inside)[np.argmin(up[inside])])
        q_i = t.q_pos[i] if a[i] >= 0 else t.q_neg[i]
        q_j = np.where(a > 0, t.q_pos, t.q_neg)
        eta = np.maximum(K[i, i] + np.diag(K) - 2 * K[i] + q_i + q_j, FLAT)
        gain = np.where(inside & (down > up[i]), (down - up[i]) ** 2 / eta, -1.0)
        j = int(np.argmax(gain))
        direction = np.zeros_like(a)
        direction[i], direction[j] = 1.0, -1.0
        # A step ends at a kink, where the objective is no longer the same parabola.
        end_i = 0.0 if kinked[i] and a[i] < 0 else t.upper[i]
        end_j = 0.0 if kinked[j] and a[j] > 0 else t.lower[j]
        room = min(end_i - a[i], a[j] - end_j, 1e6)
        move = line_minimum(lambda s, a=a, d=direction: dual(K, a + s * d, t), room)
        a = a + move * direction
        a = np.where(np.abs(a) < 1e-13, 0.0, np.clip(a, t.lower, t.upper))
    return a[:n], max_iter
