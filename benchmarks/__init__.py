"""What nearboost is measured on, and against: data sets, contenders and the record of a run."""
