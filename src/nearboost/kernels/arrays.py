"""What NumPy has too, as plain loops: its own take numba seconds to compile, for errors that cannot occur here."""

from nearboost.base.compiling import kernel


@kernel
def copy(source, target):
    """``target[:] = source``."""
    for i in range(target.size):
        target[i] = source[i]


@kernel
def kth_smallest(values, k):
    """``np.partition(values, k)[k]`` by Hoare's method; the values change places."""
    low, high = 0, values.size - 1
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if right < k < left:
            return pivot
        low, high = (low, right) if k <= right else (left, high)
    return values[k]
