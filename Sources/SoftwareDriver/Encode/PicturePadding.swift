extension PictureEncoder {
  /// Repeats the last column and row that are shown, `width` and `height` being even, over what the
  /// source holds beyond them in its last macroblocks: nobody sees that, and black there, as a video
  /// processor leaves it, would cost bits and show through. Nothing happens to a source that cannot be
  /// written.
  func padSource(of job: borrowing PictureJob, width: Int, height: Int) {
    guard job.isSourceWritable else { return }
    let lastRow = rows &- 1
    if width < columns &* 16, width > columns &* 16 &- 16 {
      for row in 0..<rows {
        unsafe padColumns(of: job.around(row: row).source, from: width, row: row)
      }
    }
    guard height < rows &* 16, height > lastRow &* 16 else { return }
    let source = job.around(row: lastRow).source
    let bytes = columns &* 16
    for y in height..<rows &* 16 {
      unsafe source.luma(x: 0, y: y).update(from: source.luma(x: 0, y: height &- 1), count: bytes)
    }
    for y in height / 2..<rows &* 8 {
      unsafe source.chroma(x: 0, y: y).update(
        from: source.chroma(x: 0, y: height / 2 &- 1), count: bytes)
    }
  }

  @unsafe private func padColumns(of source: PictureView, from width: Int, row: Int) {
    for y in row &* 16..<row &* 16 &+ 16 {
      let end = unsafe source.luma(x: width, y: y)
      unsafe end.update(repeating: end[-1], count: columns &* 16 &- width)
    }
    for y in row &* 8..<row &* 8 &+ 8 {
      let end = unsafe source.chroma(x: width / 2, y: y)
      for index in 0..<columns &* 16 &- width { unsafe end[index] = end[index & 1 &- 2] }
    }
  }
}
