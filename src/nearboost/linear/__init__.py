"""Linear classifiers, learned by stochastic steps."""
