// Levels that are not worth their bits: few, small and scattered ones.
#include <string.h>

#include "encode_kernels.h"

// What the levels of a block are worth, in bits about: nine where one is beyond 1, and for a 1 the
// less the more zeros come before it. `mask` has a bit for each level other than 0.
static int worth(const int16_t *levels, uint32_t mask) {
  static const uint8_t ones[16] = {3, 2, 2, 1, 1, 1};
  int sum = 0;
  while (mask) {
    const int last = 31 - __builtin_clz(mask);
    if (levels[last] > 1 || levels[last] < -1) return 9;
    mask ^= 1u << last;
    sum += ones[mask ? last - 32 + __builtin_clz(mask) : last];
  }
  return sum;
}

// Of the blocks together, as far as it matters whether they reach `enough`.
static int worth_of(const int16_t *levels, const uint16_t *masks, uint32_t blocks, int enough) {
  int sum = 0;
  for (; blocks && sum < enough; blocks &= blocks - 1) {
    const int block = __builtin_ctz(blocks);
    sum += worth(levels + 16 * block, masks[block]);
  }
  return sum;
}

static void drop(int16_t *levels, uint16_t *masks, uint32_t blocks) {
  for (; blocks; blocks &= blocks - 1) {
    const int block = __builtin_ctz(blocks);
    memset(levels + 16 * block, 0, 32);
    masks[block] = 0;
  }
}

uint32_t porthole_drop_luma(int16_t levels[256], uint16_t masks[16], uint32_t blocks) {
  int total = 0;
  for (int y = 0; y < 16; y += 8) {
    for (int x = 0; x < 4; x += 2) {
      const uint32_t quarter = blocks & 0x33u << (y + x);
      const int sum = worth_of(levels, masks, quarter, 4);
      if (sum < 4) {
        drop(levels, masks, quarter);
        blocks &= ~quarter;
      } else {
        total += sum;
      }
    }
  }
  if (total >= 6) return blocks;
  drop(levels, masks, blocks);
  return 0;
}

uint32_t porthole_drop_chroma(int16_t levels[128], uint16_t masks[8], uint32_t blocks) {
  for (int first = 0; first < 8; first += 4) {
    const uint32_t component = blocks & 0xfu << first;
    if (worth_of(levels, masks, component, 7) >= 7) continue;
    drop(levels, masks, component);
    blocks &= ~component;
  }
  return blocks;
}
