import Foundation
import TestSupport
import Testing

/// What libva wrote down of one encoder (`LIBVA_TRACE`, `LIBVA_TRACE_BUFDATA`): every structure that was
/// rendered, field by field, picture by picture.
struct LibvaTrace {
  /// By structure and field, as `VAEncPictureParameterBufferH264.frame_num`, the value in libva's words.
  typealias Picture = [String: String]

  let pictures: [Picture]

  init(_ text: String) {
    var pictures: [Picture] = []
    var structure: String?
    var list: String?
    for line in text.split(separator: "\n") {
      // Behind the time and the context: a tab for a field, two for an entry of a list.
      guard let end = line.firstIndex(of: "]"),
        let second = line[end...].dropFirst().firstIndex(of: "]")
      else { continue }
      let rest = line[line.index(after: second)...]
      if rest.hasPrefix("==========va_TraceRenderPicture") {
        pictures.append([:])
      } else if rest.hasPrefix("=") {
        structure = nil
      } else if rest.hasPrefix("\t--V") {
        structure = String(rest.dropFirst(3))
      } else if rest.hasPrefix("\t\t"), let structure, let list, !pictures.isEmpty {
        // Entries of lists of pictures; the ids among their fields differ by nature.
        let entry = rest.dropFirst(2).split(separator: "-")
        guard entry.count == 5 else { continue }
        let key = "\(structure).\(list)"
        let values = "\(entry[0]) \(entry[1]) \(entry[3]) \(entry[4])"
        pictures[pictures.count - 1][key, default: ""] += values + ";"
      } else if rest.hasPrefix("\t"), let structure, !pictures.isEmpty {
        let parts = rest.dropFirst().split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else {
          list = rest.dropFirst().split(separator: " ").first.map(String.init)
          continue
        }
        let field = "\(structure).\(parts[0].trimmingWhitespace)"
        pictures[pictures.count - 1][field] = String(parts[1].trimmingWhitespace)
      }
    }
    self.pictures = pictures
  }

  /// The trace that libva began under `prefix`; it adds the time and the thread to the name.
  static func read(prefix: String, in directory: TestDirectory) throws -> LibvaTrace {
    let names = try #require(try? FileManager.default.contentsOfDirectory(atPath: directory.path))
    let texts = try names.filter { $0.hasPrefix(prefix + ".") && $0.contains("thd-") }.sorted()
      .map { try String(decoding: readFile(directory.file($0)), as: UTF8.self) }
    return LibvaTrace(texts.joined())
  }
}

extension Substring {
  fileprivate var trimmingWhitespace: Substring {
    var rest = drop { $0 == " " }
    while rest.last == " " { rest.removeLast() }
    return rest
  }
}
