"""The process of a run with methods that go wrong, each in its own way."""

import os
import signal
import sys
import time

from sklearn.base import BaseEstimator, ClassifierMixin


class Strange(ClassifierMixin, BaseEstimator):
    """Does what it is told when it is fitted on all rows; the small fit before is let pass."""

    def __init__(self, does="raise"):
        self.does = does

    def fit(self, X, y):
        if len(X) < 25:
            return self
        if self.does == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.does == "abort":
            os.abort()
        if self.does == "leave":
            say("something deep inside broke")
            os._exit(7)
        if self.does == "sleep":
            say("asleep")
            time.sleep(60)
        if self.does == "memory":
            raise MemoryError("Unable to allocate 3 TiB")
        raise ValueError("These rows are\nnot to its taste.")

    def predict(self, X):
        return X[:, 0].astype(int)


def say(line):
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def register(table):
    """Put the strange one into a table of methods."""
    from nearboost.catalogue.methods import Method

    table["strange"] = Method("strange", "strange", f"{__name__}.Strange", "Goes wrong.")


if __name__ == "__main__":
    from nearboost.catalogue.methods import METHODS
    from nearboost.compare.processes import serve
    from nearboost.compare.runs import run

    register(METHODS)
    serve(run)
