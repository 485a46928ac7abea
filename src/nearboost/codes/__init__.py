"""Rows as sparse sums of samples: INN and l1 codes."""
