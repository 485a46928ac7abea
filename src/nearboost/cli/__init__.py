"""The command line: parse options, call one function, set the exit code."""
