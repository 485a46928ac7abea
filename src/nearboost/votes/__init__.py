"""Who votes on whom, and how much."""

from nearboost.votes.record import VOTE_WEIGHTS, Votes, soft_rank_weights, votes_from_neighbors

__all__ = ["VOTE_WEIGHTS", "Votes", "soft_rank_weights", "votes_from_neighbors"]
