// Loudness of a recording over time: a WAV file with samples of 16 bits, read piece by piece. Pure, and tested in Node.

/** The loudest sample of each part of each channel, 0 to 1. */
export type Peaks = { readonly channels: readonly Float32Array[]; readonly seconds: number }

type WavFormat = { readonly channels: number; readonly rate: number; readonly start: number; readonly bytes: number }

const text = (view: DataView, at: number): string =>
  String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3))

/** Reads the chunks of a WAV file up to its samples. Null for another format. */
export const readFormat = (file: ArrayBuffer): WavFormat | null => {
  const view = new DataView(file)
  if (file.byteLength < 44 || text(view, 0) !== 'RIFF' || text(view, 8) !== 'WAVE') return null
  let format: Pick<WavFormat, 'channels' | 'rate'> | null = null
  for (let at = 12; at + 8 <= file.byteLength; ) {
    const size = view.getUint32(at + 4, true)
    if (text(view, at) === 'fmt ') {
      const [kind, bits] = [view.getUint16(at + 8, true), view.getUint16(at + 22, true)]
      if (kind !== 1 || bits !== 16) return null
      format = { channels: view.getUint16(at + 10, true), rate: view.getUint32(at + 12, true) }
    }
    if (text(view, at) === 'data' && format)
      return { ...format, start: at + 8, bytes: Math.min(size, file.byteLength - at - 8) }
    at += 8 + size + (size % 2)
  }
  return null
}

/** Returns the peaks of a recording. @param parts over its whole length */
export const peaksOf = (file: ArrayBuffer, parts: number): Peaks | null => {
  const format = readFormat(file)
  if (!format) return null
  const { channels, rate, start, bytes } = format
  const frames = Math.floor(bytes / (2 * channels))
  const view = new DataView(file, start, frames * 2 * channels)
  const peaks = Array.from({ length: channels }, () => new Float32Array(parts))
  for (let frame = 0; frame < frames; frame += 1) {
    const part = Math.min(parts - 1, Math.floor((frame * parts) / frames))
    for (const [channel, own] of peaks.entries()) {
      const level = Math.abs(view.getInt16(2 * (frame * channels + channel), true)) / 32_768
      if (level > (own[part] ?? 0)) own[part] = level
    }
  }
  return { channels: peaks, seconds: frames / rate }
}
