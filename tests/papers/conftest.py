import pytest

pytest.importorskip("PIL")
pytest.importorskip("cv2")


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A folder with all sets in miniature."""
    from tests.papers.miniature import write_all

    return write_all(tmp_path_factory.mktemp("sets"))
