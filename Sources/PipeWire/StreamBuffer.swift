import CPipeWire
import Glibc
import Posix

extension SharedBuffer {
  /// Takes hold of a stream's buffer, of the agreed modifier; throws when it is of a kind that cannot be read.
  convenience init(
    of buffer: UnsafeMutablePointer<spa_buffer>, modifier: UInt64?, returned: EventSource
  ) throws(PosixError) {
    guard unsafe buffer.pointee.n_datas > 0 else {
      throw PosixError("add_buffer", code: EINVAL)
    }
    let data = unsafe buffer.pointee.datas[0]
    switch unsafe spa_data_type(rawValue: data.type) {
    case SPA_DATA_MemFd:
      unsafe try self.init(
        fd: Int32(truncatingIfNeeded: data.fd), offset: Int(data.mapoffset),
        byteCount: Int(data.maxsize), returned: returned)
    case SPA_DATA_DmaBuf:
      let fds = unsafe (0..<Int(min(buffer.pointee.n_datas, 4))).map { index in
        unsafe Int32(truncatingIfNeeded: buffer.pointee.datas[index].fd)
      }
      try self.init(DMABuf(fds: fds, modifier: modifier ?? 0), returned: returned)
    case SPA_DATA_MemPtr where unsafe data.data != nil:
      unsafe self.init(mapped: data.data, byteCount: Int(data.maxsize), returned: returned)
    default:
      throw PosixError("add_buffer", code: ENOTSUP)
    }
  }
}
