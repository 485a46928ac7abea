"""Projections that keep a graph (Timofte and Van Gool, section 4; He and Niyogi), with dense matrices."""

import numpy as np

from reference import inn
from reference.lasso import lasso_code


def parts_of(classes):
    """The rows of each class; of all where there are no classes."""
    return [np.flatnonzero(classes == c) for c in np.unique(classes)]


def code_weights(X, classes, code):
    """Absolute weights of each row's code by the others of its class."""
    W = np.zeros((len(X), len(X)))
    for part in parts_of(classes):
        for i in part:
            others = part[part != i]
            if len(others):
                W[i, others] = np.abs(code(X[others], X[i]))
    return W


def inn_weights(X, classes, lam, K, n_near=None):
    return code_weights(X, classes, lambda samples, x: inn.local_code(samples, x, lam, K, n_near))


def sparse_weights(X, classes, lam, n_near=None):
    return code_weights(X, classes, lambda samples, x: lasso_code(samples, x, lam, n_near))


def neighbor_weights(X, classes, k, t=None, *, binary=False):
    """1 or exp(−ρ²/t) for the k nearest others of the class; t None is the mean ρ² within it."""
    W = np.zeros((len(X), len(X)))
    for part in parts_of(classes):
        squares = {}
        for i in part:
            others = part[part != i]
            rho2 = inn.distances(X[others].astype(float), X[i].astype(float))
            for j in np.argsort(rho2, kind="stable")[:k]:
                squares[i, others[j]] = rho2[j]
        width = t or (np.mean(list(squares.values())) if squares else 1.0) or 1.0
        for (i, j), rho2 in squares.items():
            W[i, j] = 1.0 if binary else np.exp(-rho2 / width)
    return W


def principal(X, share=0.98):
    """Mean and principal axes, as columns, of the first axes that hold a share of the variance."""
    mean = X.astype(float).mean(axis=0)
    _, s, Vt = np.linalg.svd(X - mean, full_matrices=False)
    held = np.cumsum(s**2) / np.sum(s**2)
    return mean, Vt[: 1 + np.argmax(held > share)].T


def project(X, W, n_components, ridge):
    """μ, largest first, and unit directions, one a row."""
    mean, V = principal(X)
    Z = ((X - mean) @ V).T  # samples are columns
    W = np.maximum(W, W.T)  # eq. (9)
    D = np.diag(W.sum(axis=0))
    B = Z @ D @ Z.T
    B = B + ridge * np.trace(B) / len(B) * np.eye(len(B))
    s, U = np.linalg.eigh(B)
    root = U / np.sqrt(s)  # rootᵀ B root = I
    mu, A = np.linalg.eigh(root.T @ (Z @ W @ Z.T) @ root)
    directions = V @ (root @ A[:, ::-1][:, :n_components])
    return mu[::-1][:n_components], (directions / np.linalg.norm(directions, axis=0)).T


def project_as_published(X, W, n_components):
    """Eq. (10) with its smallest eigenvalues: 1 − them, and unit directions."""
    mean, V = principal(X)
    Z = ((X - mean) @ V).T
    W = np.maximum(W, W.T)
    D = np.diag(W.sum(axis=0))
    L = D - W
    eigenvalues, A = np.linalg.eig(np.linalg.solve(Z @ D @ Z.T, Z @ L @ Z.T))
    first = np.argsort(eigenvalues.real)[:n_components]
    directions = V @ A.real[:, first]
    return 1 - eigenvalues.real[first], (directions / np.linalg.norm(directions, axis=0)).T
