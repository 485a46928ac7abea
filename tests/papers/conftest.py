import pytest

pytest.importorskip("PIL")
pytest.importorskip("cv2")


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A folder with all sets in miniature."""
    from tests.papers.miniature import write_all

    return write_all(tmp_path_factory.mktemp("sets"))


@pytest.fixture
def here(monkeypatch):
    """Runs are made in this process; their tasks are listed."""
    from nearboost.compare.processes import carry_out
    from papers import run, worker

    tasks = []

    def run_task(task, timeout=None, program=None):
        tasks.append(task)
        return carry_out(task, worker.run)

    monkeypatch.setattr(run, "run_task", run_task)
    return tasks
