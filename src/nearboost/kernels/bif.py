"""Bio-inspired features: contrast, firing rate and histogram in one pass over the pixels."""

from nearboost.base.compiling import kernel

GAIN = 2000.0  # G of eq. (5.3), in Hz per contrast
REFRACTORY = 0.005  # Ref of eq. (5.3), in seconds
NOISE = 1e-6  # contrasts of flat areas, made of rounding alone


@kernel
def count_rates(narrow, wide, regions, counts):
    """Pixels by region (0 is outside) and firing rate; rates lie in ±1/Ref, cut into equal bins."""
    n_bins = counts.shape[1]
    for row in range(narrow.shape[0]):
        for column in range(narrow.shape[1]):
            region = regions[row, column]
            if region == 0:
                continue
            contrast = float(narrow[row, column]) - float(wide[row, column])  # (5.2)
            driven = GAIN * abs(contrast)
            rate = driven / (1.0 + REFRACTORY * driven)  # (5.3) of |C|
            if abs(contrast) <= NOISE:
                rate = 0.0
            elif contrast < 0:
                rate = -rate
            counts[region - 1, min(n_bins - 1, int((rate * REFRACTORY + 1.0) * 0.5 * n_bins))] += 1
