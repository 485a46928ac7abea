"""Images of another size, by OpenCV."""

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import MAX_PIXELS, needs


def resized_to(pixels: NDArray[np.float32], height: int, width: int, which: str) -> NDArray[np.float32]:
    """The image with three axes at its new size; areas are averaged where it shrinks.

    A strip whose short side is made longer may grow beyond all bounds: that is an error, which says ``which``.
    """
    if height * width > MAX_PIXELS:
        raise ValueError(
            f"{which} is {pixels.shape[1]} x {pixels.shape[0]} pixels and would have to grow to {width:,} x "
            f"{height:,}; cut it, or leave it out."
        )
    cv2 = needs("cv2")
    method = cv2.INTER_AREA if height * width < pixels.shape[0] * pixels.shape[1] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=method).reshape(height, width, -1))
