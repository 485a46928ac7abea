"""scikit-learn's own checks, with the one failure that a graph method cannot avoid."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost import KNNClassifier, N3Classifier, UNNClassifier

# A sample of weight 2 is one node of the neighbour graph, a sample repeated is two, which are each other's
# nearest neighbours: the graphs differ, so the fits must.
GRAPH_METHOD = "a repeated sample changes the neighbour graph, a weighted one does not"


def expected_failures(estimator):
    if isinstance(estimator, KNNClassifier):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": GRAPH_METHOD,
        "check_sample_weight_equivalence_on_sparse_data": GRAPH_METHOD,
    }


@parametrize_with_checks(
    [N3Classifier(), UNNClassifier(), KNNClassifier()], expected_failed_checks=expected_failures
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
