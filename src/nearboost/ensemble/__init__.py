"""Several classifiers, or several scores, in one."""
