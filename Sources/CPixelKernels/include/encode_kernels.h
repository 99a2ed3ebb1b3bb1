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
/// Copies 8 rows of 16 bytes.
void porthole_copy_16x8(const uint8_t *from, ptrdiff_t stride, uint8_t *to, ptrdiff_t to_stride);
/// Sum of squared differences of two macroblocks, luma and chroma.
uint32_t porthole_macroblock_ssd(const uint8_t *luma, const uint8_t *chroma, ptrdiff_t stride,
                                 const uint8_t *luma2, const uint8_t *chroma2, ptrdiff_t stride2);
/// Sum of absolute differences of two 16x16 luma blocks.
uint32_t porthole_sad_16x16(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b,
                            ptrdiff_t b_stride);
/// The same with the blocks one sample to the left and right of `reference`, above and below it.
void porthole_sad_cross_16x16(const uint8_t *block, ptrdiff_t stride, const uint8_t *reference,
                              ptrdiff_t reference_stride, uint32_t sads[4]);
/// The same of two chroma blocks, 16 bytes by 8 rows.
uint32_t porthole_sad_16x8(const uint8_t *a, ptrdiff_t a_stride, const uint8_t *b,
                           ptrdiff_t b_stride);
/// Finds the 16x16 block of `reference` most like `block` among the `width` x `height` positions
/// whose first is `reference`; answers its SAD and puts its position into `x` and `y`. Of equals the
/// first in raster order wins.
uint32_t porthole_search_16x16(const uint8_t *block, ptrdiff_t stride, const uint8_t *reference,
                               ptrdiff_t reference_stride, int width, int height, int *x, int *y);
/// How much a macroblock's luma changes from sample to sample, left to right and down.
uint32_t porthole_activity_16x16(const uint8_t *luma, ptrdiff_t stride);

/// What one QP means for a 4x4 block. Blocks lie transposed, so vectors pair columns 2n and 2n + 1.
struct porthole_quantizer {
  uint16_t scale_even[8], scale_odd[8];      ///< levels = (|coefficient| + bias) * scale >> 16
  uint16_t bias_even[8], bias_odd[8];
  int16_t least_even[8], least_odd[8];       ///< what is smaller becomes 0
  int16_t restore_even[8], restore_odd[8];   ///< coefficients = level * restore (clause 8.5.12.1)
  int32_t qp;
};
/// Both in 1/64 of a step: `rounding` is the part that rounds up, and what is less than `least` becomes
/// 0, for a first level costs several bits and one more of it next to none.
void porthole_make_quantizer(int qp, int rounding, int least, struct porthole_quantizer *quantizer);

/// Transforms and quantises source minus prediction into 16 blocks in raster order, their levels in
/// zig-zag order. Of each block `masks` has a bit for each level other than 0, and the answer a bit
/// for each block with such a level. With `dc` the DC coefficients go there unquantised.
uint32_t porthole_forward_luma(const uint8_t *source, ptrdiff_t stride, const uint8_t *prediction,
                               ptrdiff_t prediction_stride,
                               const struct porthole_quantizer *quantizer, int16_t levels[256],
                               uint16_t masks[16], int16_t *dc);
/// Adds the residual to the prediction into `target`; blocks outside `blocks` have none. With `dc`
/// the DC coefficients come from there, restored already.
void porthole_inverse_luma(uint8_t *target, ptrdiff_t stride, const uint8_t *prediction,
                           ptrdiff_t prediction_stride,
                           const struct porthole_quantizer *quantizer, const int16_t levels[256],
                           const int16_t *dc, uint32_t blocks);
/// Drops the levels of 8x8 quarters, or of all, where they are few, small and scattered: they cost
/// more bits than they are worth. Answers the blocks that keep theirs.
uint32_t porthole_drop_luma(int16_t levels[256], uint16_t masks[16], uint32_t blocks);
/// The same for the AC levels of Cb and of Cr.
uint32_t porthole_drop_chroma(int16_t levels[128], uint16_t masks[8], uint32_t blocks);
/// One 4x4 block both ways, its prediction 4 bytes a row; answers whether a level is other than 0.
int porthole_code_4x4(const uint8_t *source, ptrdiff_t stride, uint8_t *target,
                      ptrdiff_t target_stride, const uint8_t prediction[16],
                      const struct porthole_quantizer *quantizer, int16_t levels[16],
                      uint16_t *mask);
/// The same for chroma: four blocks of Cb, four of Cr; DC is always apart.
uint32_t porthole_forward_chroma(const uint8_t *source, ptrdiff_t stride,
                                 const uint8_t *prediction, ptrdiff_t prediction_stride,
                                 const struct porthole_quantizer *quantizer, int16_t levels[128],
                                 uint16_t masks[8], int16_t dc[8]);
void porthole_inverse_chroma(uint8_t *target, ptrdiff_t stride, const uint8_t *prediction,
                             ptrdiff_t prediction_stride,
                             const struct porthole_quantizer *quantizer, const int16_t levels[128],
                             const int16_t dc[8], int has_levels);
/// Quantises the 16 luma DC coefficients of an Intra_16x16 macroblock into zig-zag order, and
/// restores them in place (clause 8.5.10). Answers a bit for each level other than 0.
uint32_t porthole_luma_dc(int16_t dc[16], const struct porthole_quantizer *quantizer,
                          int16_t levels[16]);
/// Quantises the four DC coefficients of one chroma component and restores them in place. Answers a
/// bit for each level other than 0.
uint32_t porthole_chroma_dc(int16_t dc[4], const struct porthole_quantizer *quantizer,
                            int16_t levels[4]);

/// Where an intra macroblock may look.
enum { PORTHOLE_LEFT = 1, PORTHOLE_ABOVE = 2, PORTHOLE_CORNER = 4, PORTHOLE_ABOVE_RIGHT = 8 };
/// Intra_16x16 prediction of mode 0 to 3 (table 8-4) from the samples around `target`, 16 a row.
void porthole_intra_luma(const uint8_t *target, ptrdiff_t stride, int mode, int available,
                         uint8_t prediction[256]);
/// Finds the mode of table 8-2 whose Intra_4x4 prediction from the samples around `target` is nearest
/// to `source`, by transformed differences and by `bit_cost` for each of its bits: one for the
/// `likely` mode, four for others. Answers the cost.
uint32_t porthole_choose_intra_4x4(const uint8_t *source, ptrdiff_t stride, const uint8_t *target,
                                   ptrdiff_t target_stride, int available, int likely,
                                   uint32_t bit_cost, uint8_t prediction[16], int *mode);
/// Intra chroma prediction of mode 0 to 3 (table 8-5), Cb and Cr interleaved, 16 bytes a row.
void porthole_intra_chroma(const uint8_t *target, ptrdiff_t stride, int mode, int available,
                           uint8_t prediction[128]);
/// Inter prediction of chroma half a sample to the right or below (clause 8.4.2.2.2).
void porthole_inter_chroma(const uint8_t *reference, ptrdiff_t stride, int half_x, int half_y,
                           uint8_t prediction[128]);

/// One edge of a macroblock to deblock (clause 8.7.2).
struct porthole_edge {
  int16_t alpha, beta;
  int8_t strength_bound[4];  ///< tC0 of each quarter of the edge; -1 leaves the quarter alone
  int8_t is_strong;          ///< bS 4, all along the edge
};
/// `target` is the first sample behind the edge, which is vertical or horizontal. Answers whether a
/// sample may have changed.
int porthole_deblock_luma(uint8_t *target, ptrdiff_t stride, int is_vertical,
                          const struct porthole_edge *edge);
int porthole_deblock_chroma(uint8_t *target, ptrdiff_t stride, int is_vertical,
                            const struct porthole_edge *edge);
