"""Rows as sparse sums of samples: INN codes and l1 codes."""
