from pathlib import Path

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
    from nearboost.base.disk import write_json
    from nearboost.compare.processes import error_sentence, failure
    from papers import run, worker

    tasks = []

    def run_task(task, timeout=None, program=None):
        tasks.append(task)
        try:
            result = worker.run(task)
        except Exception as error:
            result = failure(task["identity"], error_sentence(error))
        write_json(Path(task["result"]), result)
        return result

    monkeypatch.setattr(run, "run_task", run_task)
    return tasks
