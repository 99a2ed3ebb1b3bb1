#pragma once
#include <stddef.h>
#include <stdint.h>

// Arithmetic of the software encoder. Pictures are NV12: luma rows, and rows of interleaved Cb and
// Cr, of one stride in bytes. No function reads or writes outside the block it names.

/// 64-bit hashes of `count` neighbouring macroblocks, 16 luma and 8 chroma rows each.
void porthole_hash_macroblocks(const uint8_t *luma, const uint8_t *chroma, ptrdiff_t stride,
                               int count, uint64_t *hashes);
/// Copies one macroblock, luma and chroma.
void porthole_copy_macroblock(const uint8_t *luma, const uint8_t *chroma, ptrdiff_t stride,
                              uint8_t *to_luma, uint8_t *to_chroma, ptrdiff_t to_stride);
/// Sum of squared differences of two macroblocks, luma and chroma.
uint32_t porthole_macroblock_ssd(const uint8_t *luma, const uint8_t *chroma, ptrdiff_t stride,
                                 const uint8_t *luma2, const uint8_t *chroma2, ptrdiff_t stride2);
/// Sum of absolute differences of two 16x16 luma blocks.
uint32_t porthole_sad_16x16(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b,
                            ptrdiff_t b_stride);
