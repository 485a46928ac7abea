"""The papers' pseudo-code read line by line in plain NumPy, to test the fast engine against.

Nothing here imports the package. Every round looks at the whole graph, O(m·k), and keeps weights, not
margins, as the papers print them.
"""
