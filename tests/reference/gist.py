"""Gist (Oliva and Torralba 2001), after their published program, spectra with their middle in the middle."""

import numpy as np


def centred_frequencies(side):
    fx, fy = np.meshgrid(np.arange(side) - side // 2, np.arange(side) - side // 2)
    return np.hypot(fx, fy), np.arctan2(fy, fx)


def filtered(image, transfer):
    """An image through a transfer function whose middle is frequency 0."""
    return np.fft.ifft2(np.fft.fft2(image) * np.fft.ifftshift(transfer))


def prefilter(image):
    """``image`` from 0 to 255."""
    padded = np.pad(np.log(image + 1), 5, mode="symmetric")
    radius, _ = centred_frequencies(len(padded))
    gaussian = np.exp(-(radius**2) / (4 / np.sqrt(np.log(2))) ** 2)
    output = padded - filtered(padded, gaussian).real
    deviation = np.sqrt(np.abs(filtered(output**2, gaussian)))
    return (output / (0.2 + deviation))[5:-5, 5:-5]


def gabor(side, scale, orientation, n_orientations):
    radius, angle = centred_frequencies(side)
    turned = angle + np.pi / n_orientations * orientation
    turned = turned + 2 * np.pi * (turned < -np.pi) - 2 * np.pi * (turned > np.pi)
    sharpness, position, width = 0.35, 0.3 / 1.85**scale, 16 * n_orientations**2 / 32**2
    return np.exp(-10 * sharpness * (radius / side / position - 1) ** 2 - 2 * width * np.pi * turned**2)


def gist(image, orientations):
    """``image`` is a grey square from 0 to 255, its side a multiple of 8."""
    side = len(image)
    border, cell = side // 8, side // 4
    padded = np.pad(prefilter(image.astype(float)), border, mode="symmetric")
    numbers = []
    for scale, n_orientations in enumerate(orientations):
        for orientation in range(n_orientations):
            transfer = gabor(len(padded), scale, orientation, n_orientations)
            energy = np.abs(filtered(padded, transfer))[border:-border, border:-border]
            for row in range(4):
                for column in range(4):
                    part = energy[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell]
                    numbers.append(part.mean())
    return np.array(numbers)
