"""Models as people keep them: features, classifier and class names in one file that cannot run code."""
