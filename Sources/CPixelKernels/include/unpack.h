#pragma once

#include <stddef.h>
#include <stdint.h>

// One row of a format's samples as pixels of four bytes: Y, Cb, Cr and 255, or blue, green, red and 255.
// A row of subsampled chroma may begin with the second pixel of its first sample (`is_odd`): then only
// that one is made of it.

// Y and 255; Cb and Cr are 0, for the next two to add.
void porthole_pixels_from_luma(const uint8_t *luma, size_t width, uint32_t *pixels);

// Cb and Cr from pairs of them, each for two pixels.
void porthole_add_chroma_pairs(
  const uint8_t *chroma, int is_odd, size_t width, uint32_t *pixels);

// Byte 1 or 2 of each pixel from a plane of its own, a sample for two pixels.
void porthole_add_chroma(
  const uint8_t *chroma, int is_odd, int byte, size_t width, uint32_t *pixels);

// Byte 1 or 2 of each pixel from a plane of its own, a sample for each.
void porthole_add_whole_chroma(const uint8_t *chroma, int byte, size_t width, uint32_t *pixels);

// Y, and no colour: Cb and Cr are 128.
void porthole_pixels_from_grey(const uint8_t *luma, size_t width, uint32_t *pixels);

// From Y, Cb, Y, Cr for each two pixels.
void porthole_pixels_from_yuy2(const uint8_t *samples, int is_odd, size_t width, uint32_t *pixels);

// From little-endian words with ten bits of a colour from each of these bits on, rounded to eight.
void porthole_pixels_from_ten_bits(
  const uint8_t *words, int red, int green, int blue, size_t width, uint32_t *pixels);
