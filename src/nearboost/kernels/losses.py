"""The losses for kernels: an integer code, one margin, one number.

The formulas are those of `nearboost.base.loss_formulas`, compiled. Codes are chosen by `if` because
numba cannot cache functions that take other functions; inside a loop the code never changes, so the
branch costs nothing measurable.
"""

from nearboost.base import loss_formulas as formulas
from nearboost.base.compiling import kernel
from nearboost.base.loss_formulas import EXP, HINGE, LOG, MAT, SQUARED

# No denominator in the formulas can be zero: "numpy" spares the test that Python's division makes.
_scalar = kernel(error_model="numpy")

_exp_value = _scalar(formulas.exp_value)
_log_value = _scalar(formulas.log_value)
_log_slope = _scalar(formulas.log_slope)
_binlog_value = _scalar(formulas.binlog_value)
_binlog_slope = _scalar(formulas.binlog_slope)
_mat_value = _scalar(formulas.mat_value)
_mat_slope = _scalar(formulas.mat_slope)
_hinge_value = _scalar(formulas.hinge_value)
_hinge_slope = _scalar(formulas.hinge_slope)
_squared_value = _scalar(formulas.squared_value)
_squared_slope = _scalar(formulas.squared_slope)


@_scalar
def loss_value(code, margin):
    """F(margin)."""
    if code == LOG:
        return _log_value(margin)
    if code == EXP:
        return _exp_value(margin)
    if code == MAT:
        return _mat_value(margin)
    if code == HINGE:
        return _hinge_value(margin)
    if code == SQUARED:
        return _squared_value(margin)
    return _binlog_value(margin)


@_scalar
def loss_slope(code, margin):
    """−F'(margin) = K·w."""
    if code == LOG:
        return _log_slope(margin)
    if code == EXP:
        return _exp_value(margin)
    if code == MAT:
        return _mat_slope(margin)
    if code == HINGE:
        return _hinge_slope(margin)
    if code == SQUARED:
        return _squared_slope(margin)
    return _binlog_slope(margin)
