#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_backend_vpp.h>
#include <va/va_drmcommon.h>

// libva exports the two constructors that its own display libraries use, and declares them in no
// header that is installed.
VADisplayContextP va_newDisplayContext(void);
VADriverContextP va_newDriverContext(VADisplayContextP display);

// libva's descriptor of pictures in dma-bufs holds structures without names, which Swift does not
// import. An object, and a plane of a layer, as the driver reads and writes them.
struct va_prime_object {
  int fd;
  uint32_t size;
  uint64_t modifier;
};
struct va_prime_plane {
  uint32_t object, offset, pitch;
};
static inline struct va_prime_object va_prime_object(
    const VADRMPRIMESurfaceDescriptor *prime, uint32_t index) {
  return (struct va_prime_object){
      prime->objects[index].fd, prime->objects[index].size,
      prime->objects[index].drm_format_modifier};
}
static inline void va_prime_set_object(
    VADRMPRIMESurfaceDescriptor *prime, uint32_t index, struct va_prime_object object) {
  prime->objects[index].fd = object.fd;
  prime->objects[index].size = object.size;
  prime->objects[index].drm_format_modifier = object.modifier;
}
static inline uint32_t va_prime_layer_format(
    const VADRMPRIMESurfaceDescriptor *prime, uint32_t layer) {
  return prime->layers[layer].drm_format;
}
static inline uint32_t va_prime_plane_count(
    const VADRMPRIMESurfaceDescriptor *prime, uint32_t layer) {
  return prime->layers[layer].num_planes;
}
static inline struct va_prime_plane va_prime_plane(
    const VADRMPRIMESurfaceDescriptor *prime, uint32_t layer, uint32_t plane) {
  return (struct va_prime_plane){
      prime->layers[layer].object_index[plane], prime->layers[layer].offset[plane],
      prime->layers[layer].pitch[plane]};
}
static inline void va_prime_add_layer(VADRMPRIMESurfaceDescriptor *prime, uint32_t drm_format) {
  prime->layers[prime->num_layers].drm_format = drm_format;
  prime->layers[prime->num_layers++].num_planes = 0;
}
// Adds a plane to the last layer.
static inline void va_prime_put_plane(
    VADRMPRIMESurfaceDescriptor *prime, struct va_prime_plane put) {
  uint32_t layer = prime->num_layers - 1, plane = prime->layers[layer].num_planes++;
  prime->layers[layer].object_index[plane] = put.object;
  prime->layers[layer].offset[plane] = put.offset;
  prime->layers[layer].pitch[plane] = put.pitch;
}
// Adds a plane of object 0 to the last layer.
static inline void va_prime_add_plane(
    VADRMPRIMESurfaceDescriptor *prime, uint32_t offset, uint32_t pitch) {
  va_prime_put_plane(prime, (struct va_prime_plane){0, offset, pitch});
}
