#include "CJPEG.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// After stdio.h, which it wants.
#include <jerror.h>
#include <jpeglib.h>

// What of libjpeg is used. It is loaded with the first camera that needs it: beside a screen it would be
// address space for nothing.
static struct {
  struct jpeg_error_mgr *(*std_error)(struct jpeg_error_mgr *);
  void (*create)(j_decompress_ptr, int, size_t);
  void (*destroy)(j_decompress_ptr);
  void (*abort)(j_decompress_ptr);
  int (*read_header)(j_decompress_ptr, boolean);
  boolean (*has_multiple_scans)(j_decompress_ptr);
  boolean (*start)(j_decompress_ptr);
  JDIMENSION (*read_raw)(j_decompress_ptr, JSAMPIMAGE, JDIMENSION);
  boolean (*resync)(j_decompress_ptr, int);
} library;

int porthole_jpeg_load(void) {
  static int state = -1;  // The loop's thread asks before any decoder is made.
  if (state >= 0) return state;
  void *file = dlopen("libjpeg.so.62", RTLD_NOW | RTLD_LOCAL);
  const struct {
    const char *name;
    void *function;
  } symbols[] = {
    {"jpeg_std_error", &library.std_error},
    {"jpeg_CreateDecompress", &library.create},
    {"jpeg_destroy_decompress", &library.destroy},
    {"jpeg_abort_decompress", &library.abort},
    {"jpeg_read_header", &library.read_header},
    {"jpeg_has_multiple_scans", &library.has_multiple_scans},
    {"jpeg_start_decompress", &library.start},
    {"jpeg_read_raw_data", &library.read_raw},
    {"jpeg_resync_to_restart", &library.resync},
  };
  state = file != NULL;
  for (size_t i = 0; state && i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(file, symbols[i].name);
    memcpy(symbols[i].function, &symbol, sizeof symbol);
    state = symbol != NULL;
  }
  return state;
}

// Of the bytes that are read at a time, which the producer may change meanwhile; and of what libjpeg
// allocates for a picture, whatever its size.
enum { PIECE_BYTES = 32 << 10, ARENA_BYTES = 112 << 10, ALIGNMENT = 64 };

struct porthole_jpeg {
  _Alignas(ALIGNMENT) uint8_t arena[ARENA_BYTES];
  uint8_t piece[PIECE_BYTES];
  size_t used;  // of the arena
  struct jpeg_decompress_struct decoder;
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr source;
  jmp_buf start;
  porthole_jpeg_read read;
  void *context;
  bool has_started;  // beyond the header
  char cause[JMSG_LENGTH_MAX];
};

_Static_assert(sizeof(struct porthole_jpeg) + (24 << 10) <= PORTHOLE_JPEG_BYTES, "and libjpeg's own");

// --- Errors

static struct porthole_jpeg *owner(j_common_ptr decoder) { return decoder->client_data; }

static void leave(j_common_ptr decoder) {
  struct porthole_jpeg *jpeg = owner(decoder);
  decoder->err->format_message(decoder, jpeg->cause);
  longjmp(jpeg->start, 1);
}

static void leave_because(struct porthole_jpeg *jpeg, const char *cause) {
  snprintf(jpeg->cause, sizeof jpeg->cause, "%s", cause);
  longjmp(jpeg->start, 1);
}

// Below 0 it is a warning, mostly of data that are damaged: such a picture is not shown.
static void warn(j_common_ptr decoder, int level) {
  switch (decoder->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:  // Some cameras fill up between markers.
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM: return;
    default:
      if (level < 0) leave(decoder);
  }
}

static void say_nothing(j_common_ptr decoder) { (void)decoder; }

// --- Bytes

static void do_nothing(j_decompress_ptr decoder) { (void)decoder; }

static boolean fill(j_decompress_ptr decoder) {
  struct porthole_jpeg *jpeg = decoder->client_data;
  size_t count = jpeg->read(jpeg->context, jpeg->piece, sizeof jpeg->piece);
  if (count == 0) {
    // An end, as often as it is asked for: what lacks the last marker may be whole.
    jpeg->piece[0] = 0xff;
    jpeg->piece[1] = JPEG_EOI;
    count = 2;
  }
  decoder->src->next_input_byte = jpeg->piece;
  decoder->src->bytes_in_buffer = count;
  return TRUE;
}

static void skip(j_decompress_ptr decoder, long count) {
  struct jpeg_source_mgr *source = decoder->src;
  while (count > (long)source->bytes_in_buffer) {
    count -= (long)source->bytes_in_buffer;
    fill(decoder);
  }
  if (count <= 0) return;
  source->next_input_byte += count;
  source->bytes_in_buffer -= (size_t)count;
}

// --- Memory: all that a picture needs comes from the arena, and goes with the picture, tables included.

static void *allocate(j_common_ptr decoder, int pool, size_t count) {
  (void)pool;
  struct porthole_jpeg *jpeg = owner(decoder);
  if (count > ARENA_BYTES - jpeg->used) leave_because(jpeg, "a JPEG that takes too much memory");
  void *start = jpeg->arena + jpeg->used;
  jpeg->used += (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (jpeg->used > ARENA_BYTES) jpeg->used = ARENA_BYTES;
  return start;
}

static void *rows(j_common_ptr decoder, int pool, size_t width, size_t count) {
  if (width > ARENA_BYTES || count > ARENA_BYTES) {
    leave_because(owner(decoder), "a JPEG that takes too much memory");
  }
  uint8_t **list = allocate(decoder, pool, count * sizeof *list);
  for (size_t i = 0; i < count; i++) list[i] = allocate(decoder, pool, width);
  return list;
}

static JSAMPARRAY sample_rows(j_common_ptr decoder, int pool, JDIMENSION width, JDIMENSION count) {
  return rows(decoder, pool, width, count);
}

static JBLOCKARRAY block_rows(j_common_ptr decoder, int pool, JDIMENSION width, JDIMENSION count) {
  return rows(decoder, pool, width * sizeof(JBLOCK), count);
}

static const char *const whole = "a JPEG that has to be kept whole";

static jvirt_sarray_ptr no_samples(
  j_common_ptr decoder, int pool, boolean zero, JDIMENSION width, JDIMENSION count, JDIMENSION most) {
  (void)pool, (void)zero, (void)width, (void)count, (void)most;
  leave_because(owner(decoder), whole);
  return NULL;
}

static jvirt_barray_ptr no_blocks(
  j_common_ptr decoder, int pool, boolean zero, JDIMENSION width, JDIMENSION count, JDIMENSION most) {
  (void)pool, (void)zero, (void)width, (void)count, (void)most;
  leave_because(owner(decoder), whole);
  return NULL;
}

static void give_back(j_common_ptr decoder, int pool) { (void)decoder, (void)pool; }

// What libjpeg made of itself stays its own, and with it how that is destroyed.
static void take_memory_over(struct porthole_jpeg *jpeg) {
  struct jpeg_memory_mgr *memory = jpeg->decoder.mem;
  memory->alloc_small = allocate;
  memory->alloc_large = allocate;
  memory->alloc_sarray = sample_rows;
  memory->alloc_barray = block_rows;
  memory->request_virt_sarray = no_samples;
  memory->request_virt_barray = no_blocks;
  memory->realize_virt_arrays = say_nothing;
  memory->free_pool = give_back;
}

static void forget_picture(struct porthole_jpeg *jpeg) {
  library.abort(&jpeg->decoder);
  // Tables hold from one picture to the next, and so would those of a damaged one.
  for (int i = 0; i < NUM_QUANT_TBLS; i++) jpeg->decoder.quant_tbl_ptrs[i] = NULL;
  for (int i = 0; i < NUM_HUFF_TBLS; i++) {
    jpeg->decoder.dc_huff_tbl_ptrs[i] = NULL;
    jpeg->decoder.ac_huff_tbl_ptrs[i] = NULL;
  }
  jpeg->used = 0;
  jpeg->has_started = false;
}

// --- What is called from outside

struct porthole_jpeg *porthole_jpeg_create(void) {
  if (!porthole_jpeg_load()) return NULL;
  struct porthole_jpeg *jpeg = aligned_alloc(
    ALIGNMENT, (sizeof *jpeg + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (jpeg == NULL) return NULL;
  memset(jpeg, 0, sizeof *jpeg);
  jpeg->decoder.err = library.std_error(&jpeg->errors);
  jpeg->errors.error_exit = leave;
  jpeg->errors.emit_message = warn;
  jpeg->errors.output_message = say_nothing;
  jpeg->decoder.client_data = jpeg;
  if (setjmp(jpeg->start) != 0) {
    free(jpeg);
    return NULL;
  }
  library.create(&jpeg->decoder, JPEG_LIB_VERSION, sizeof jpeg->decoder);
  take_memory_over(jpeg);
  jpeg->source.init_source = do_nothing;
  jpeg->source.fill_input_buffer = fill;
  jpeg->source.skip_input_data = skip;
  jpeg->source.resync_to_restart = library.resync;
  jpeg->source.term_source = do_nothing;
  jpeg->decoder.src = &jpeg->source;
  return jpeg;
}

void porthole_jpeg_destroy(struct porthole_jpeg *jpeg) {
  if (jpeg == NULL) return;
  library.destroy(&jpeg->decoder);
  free(jpeg);
}

static void describe(const struct jpeg_decompress_struct *decoder, struct porthole_jpeg_picture *picture) {
  picture->width = decoder->image_width;
  picture->height = decoder->image_height;
  picture->plane_count = (uint32_t)decoder->num_components;
  picture->band_count = decoder->total_iMCU_rows;
  for (int i = 0; i < decoder->num_components; i++) {
    const jpeg_component_info *component = &decoder->comp_info[i];
    picture->planes[i] = (struct porthole_jpeg_plane){
      .across = (uint32_t)component->h_samp_factor,
      .down = (uint32_t)component->v_samp_factor,
      .width = component->width_in_blocks * DCTSIZE,
      .height = decoder->total_iMCU_rows * (uint32_t)component->v_samp_factor * DCTSIZE,
    };
  }
}

const char *porthole_jpeg_begin(
  struct porthole_jpeg *jpeg, porthole_jpeg_read read, void *context,
  struct porthole_jpeg_picture *picture) {
  struct jpeg_decompress_struct *decoder = &jpeg->decoder;
  if (setjmp(jpeg->start) != 0) return jpeg->cause;
  forget_picture(jpeg);
  jpeg->read = read;
  jpeg->context = context;
  jpeg->source.bytes_in_buffer = 0;
  library.read_header(decoder, TRUE);
  bool is_grey = decoder->num_components == 1;
  bool is_colour = decoder->num_components == 3 && decoder->jpeg_color_space == JCS_YCbCr;
  if (!is_grey && !is_colour) leave_because(jpeg, "a JPEG whose samples are not Y, Cb and Cr");
  if (library.has_multiple_scans(decoder)) leave_because(jpeg, whole);
  decoder->raw_data_out = TRUE;
  decoder->do_fancy_upsampling = FALSE;
  decoder->out_color_space = decoder->jpeg_color_space;
  decoder->dct_method = JDCT_ISLOW;
  describe(decoder, picture);
  return NULL;
}

const char *porthole_jpeg_decode(
  struct porthole_jpeg *jpeg, uint8_t *start, const struct porthole_jpeg_places *places,
  uint32_t count) {
  struct jpeg_decompress_struct *decoder = &jpeg->decoder;
  if (setjmp(jpeg->start) != 0) return jpeg->cause;
  if (!jpeg->has_started) library.start(decoder);
  jpeg->has_started = true;
  JSAMPROW list[3][4 * DCTSIZE];
  JSAMPARRAY bands[3] = {list[0], list[1], list[2]};
  const uint32_t most = (uint32_t)decoder->max_v_samp_factor * DCTSIZE;
  for (uint32_t band = 0; band < count; band++) {
    for (int i = 0; i < decoder->num_components; i++) {
      const uint32_t height = (uint32_t)decoder->comp_info[i].v_samp_factor * DCTSIZE;
      for (uint32_t row = 0; row < height; row++) {
        list[i][row] =
          start + places->offsets[i] + (size_t)(band * height + row) * places->strides[i];
      }
    }
    if (library.read_raw(decoder, bands, most) != most) leave_because(jpeg, "a JPEG that lacks rows");
  }
  return NULL;
}
