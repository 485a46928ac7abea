"""Search and answers on the workers of a cluster.

A task is a plain function of a range of rows and paths: what it answers depends on nothing else, so that it can be
run again, anywhere, with the same bits. What has been answered goes to the client, which writes it down block by
block. No data is scattered: a lost worker takes nothing along that cannot be made again. Dask is imported where
it is used.
"""

from nearboost.distributed.spreading import features, graph, predict, spread_rows
from nearboost.distributed.tasks import describe_files, graph_block, predict_block, project_block

__all__ = [
    "describe_files",
    "features",
    "graph",
    "graph_block",
    "predict",
    "predict_block",
    "project_block",
    "spread_rows",
]
