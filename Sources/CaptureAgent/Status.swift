import PipeWire
import Wire

/// The agent's own figures, put together once a second. Loop thread only.
struct Status {
  let limits: MemoryLimits
  let memory: MemoryWatch

  func figures(
    of track: VideoTrack, soundPackets: Int, link: RelayConnection
  ) -> AgentFigures {
    var figures = AgentFigures()
    figures[.loopAllocations] = UInt64(
      max(0, AllocationGuard.threadAllocations - UncountedAllocations.count))
    addMemory(to: &figures)
    let taken = track.frameCounts
    figures[.framesCaptured] = UInt64(taken.taken)
    figures[.framesReplaced] = UInt64(taken.replaced)
    figures[.framesInvalid] = UInt64(taken.rejected)
    figures[.framesMistimed] = UInt64(taken.mistimed)
    figures[.callbackMaxUS] = UInt64(taken.callbacks.longest / 1000)
    figures[.callbacksSlow] = UInt64(taken.callbacks.slowCount)
    let (encoded, median, most) = track.counts.takeSecond()
    figures[.framesEncoded] = UInt64(encoded.encoded)
    figures[.picturesUnchanged] = UInt64(encoded.unchanged)
    figures[.picturesFailed] = UInt64(encoded.failed)
    figures[.keyframes] = UInt64(encoded.keyframes)
    figures[.bytesCopied] = UInt64(encoded.bytesCopied)
    figures[.encoderAllocations] = UInt64(encoded.allocations)
    figures[.encodeMedianUS] = UInt64(median)
    figures[.encodeMaxUS] = UInt64(most)
    figures[.bitrate] = UInt64(encoded.bitsPerSecond)
    figures[.soundPackets] = UInt64(soundPackets)
    figures[.packetsSent] = UInt64(link.packetsSent)
    figures[.bytesSent] = UInt64(link.bytesSent)
    figures[.sendQueueBytes] = UInt64(link.waitingBytes)
    figures[.socketBytes] = UInt64(link.kernelBytes)
    return figures
  }

  private func addMemory(to figures: inout AgentFigures) {
    let status = memory.gauge.currentStatus()
    figures[.vmPeakKB] = UInt64(status.sizePeakKB)
    figures[.vmSizeKB] = UInt64(status.sizeKB)
    figures[.vmDataKB] = UInt64(status.dataKB)
    figures[.rssKB] = UInt64(status.residentKB)
    figures[.rssPeakKB] = UInt64(status.residentPeakKB)
    figures[.threads] = UInt64(status.threads)
    figures[.limitDataKB] = UInt64((limits.dataBytes ?? 0) >> 10)
    figures[.limitAddressKB] = UInt64((limits.addressBytes ?? 0) >> 10)
    let held = HeldMemory()
    figures[.memfdKB] = UInt64(held.ownKB)
    figures[.framesHeldKB] = UInt64(held.foreignKB)
    figures[.framesMappedKB] = UInt64(SharedBuffer.mappedPeakByteCount >> 10)
    figures[.plannedKB] = UInt64(memory.plannedByteCount >> 10)
    figures[.memoryStep] = UInt64(memory.step.rawValue)
  }
}
