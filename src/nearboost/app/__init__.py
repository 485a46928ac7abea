"""Cells in the browser: requests in, calls of cells, pages out."""
