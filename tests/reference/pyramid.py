"""Pyramids of pooled codes, one descriptor and one cell at a time."""

import numpy as np


def llc(words, x, n_near, beta):
    """LLC: the nearest words, and the minimum of |x − Σ c b|² + ε|c|² under Σ c = 1 by its Lagrange equations."""
    near = np.argsort(((words - x) ** 2).sum(axis=1), kind="stable")[:n_near]
    B = words[near]
    eps = beta * ((B - x) ** 2).sum()
    system = np.zeros((n_near + 1, n_near + 1))
    system[:n_near, :n_near] = 2 * (B @ B.T + eps * np.eye(n_near))
    system[:n_near, n_near] = system[n_near, :n_near] = 1
    code = np.zeros(len(words))
    code[near] = np.linalg.solve(system, np.append(2 * B @ x, 1))[:n_near]
    return code


def cell_of(x, y, level):
    return min(int(y * level), level - 1), min(int(x * level), level - 1)


def pyramid(codes, positions, levels, pooling):
    """Dense codes pooled over each cell of each level, row by row."""
    pooled = []
    for level in levels:
        for row in range(level):
            for column in range(level):
                inside = [cell_of(x, y, level) == (row, column) for x, y in positions]
                here = codes[inside]
                if not any(inside):
                    pooled.append(np.zeros(codes.shape[1]))
                elif pooling == "max":
                    pooled.append(np.maximum(np.max(here, axis=0), 0))
                else:
                    pooled.append(np.mean(here, axis=0))
    return np.concatenate(pooled)


def finished(pooled, root, norm):
    if root:
        pooled = np.sign(pooled) * np.sqrt(np.abs(pooled))
    if norm is None:
        return pooled
    length = np.abs(pooled).sum() if norm == "l1" else np.sqrt((pooled**2).sum())
    return pooled / length if length else pooled
