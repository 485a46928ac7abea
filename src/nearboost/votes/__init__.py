"""Who votes on whom, and how much."""

from nearboost.votes.rules import (
    KERNELS,
    VOTE_WEIGHTS,
    CodeVotes,
    Kernel,
    KernelVotes,
    PlainVotes,
    VoteRule,
    Votes,
    cast_votes,
    soft_rank_weights,
    votes_from_neighbors,
)

__all__ = [
    "KERNELS",
    "VOTE_WEIGHTS",
    "CodeVotes",
    "Kernel",
    "KernelVotes",
    "PlainVotes",
    "VoteRule",
    "Votes",
    "cast_votes",
    "soft_rank_weights",
    "votes_from_neighbors",
]
