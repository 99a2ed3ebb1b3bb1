import CLinux
import CPipeWire
import Glibc
import Posix

extension SharedBuffer {
  /// Takes hold of a stream's buffer, of the agreed format; throws when it is of a kind that cannot be read.
  convenience init(
    of buffer: UnsafeMutablePointer<spa_buffer>, format: VideoFormat, returned: EventSource
  ) throws(PosixError) {
    let count = unsafe Int(buffer.pointee.n_datas)
    guard count > 0 else { throw PosixError("add_buffer", code: EINVAL) }
    if let modifier = format.modifier {
      var fds: [Int32] = []
      for index in 0..<min(count, DMABuf.planeLimit) {
        let data = unsafe buffer.pointee.datas[index]
        guard unsafe data.type == SPA_DATA_DmaBuf.rawValue else {
          throw PosixError("add_buffer", code: ENOTSUP)
        }
        fds.append(Int32(truncatingIfNeeded: unsafe data.fd))
      }
      try self.init(DMABuf(fds: fds, modifier: modifier), returned: returned)
    } else {
      var blocks: [MemoryBlock] = []
      // A block for each plane, or the first one for all of them.
      for index in 0..<(count < format.pixel.planeCount ? 1 : format.pixel.planeCount) {
        blocks.append(unsafe try MemoryBlock(of: buffer.pointee.datas[index]))
      }
      self.init(blocks, returned: returned)
    }
  }
}

extension MemoryBlock {
  fileprivate convenience init(of data: spa_data) throws(PosixError) {
    switch unsafe spa_data_type(rawValue: data.type) {
    // PipeWire's video devices give dma-bufs under this name.
    case SPA_DATA_MemFd, SPA_DATA_DmaBuf:
      let fd = unsafe Int32(truncatingIfNeeded: data.fd)
      try self.init(
        fd: fd, offset: unsafe Int(data.mapoffset), byteCount: unsafe Int(data.maxsize),
        isDevices: !linux_is_shared_memory(fd))
    case SPA_DATA_MemPtr where unsafe data.data != nil:
      unsafe self.init(mapped: data.data, byteCount: Int(data.maxsize))
    default: throw PosixError("add_buffer", code: ENOTSUP)
    }
  }
}
