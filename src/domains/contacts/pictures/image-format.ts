/** The type and the size in pixels of a picture. */
export type ImageFormat = { readonly type: string; readonly width: number; readonly height: number }

const png = Buffer.from('89504e470d0a1a0a', 'hex')

/** JPEG (ITU-T T.81, B.2.2): the frame header, SOF0 to SOF15, has the size. Other segments are skipped by their length. */
const readJpeg = (bytes: Buffer): ImageFormat | null => {
  let at = 2
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] ?? 0
    // Fill bytes may precede a marker.
    if (marker === 0xff) {
      at += 1
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { type: 'image/jpeg', height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    const length = bytes.readUInt16BE(at + 2)
    if (length < 2) return null
    at += 2 + length
  }
  return null
}

/** WebP (RFC 9649, 2.5 to 2.7): lossy, lossless and extended. */
const readWebp = (bytes: Buffer): ImageFormat | null => {
  if (bytes.length < 30) return null
  const type = 'image/webp'
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { type, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { type, width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}

/** Reads type and size of a JPEG, PNG, GIF or WebP from its first bytes; null for anything else. */
export const imageFormatOf = (bytes: Buffer): ImageFormat | null => {
  if (bytes.subarray(0, 8).equals(png) && bytes.length >= 24)
    return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (/^GIF8[79]a/.test(bytes.toString('latin1', 0, 6)) && bytes.length >= 10)
    return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return readJpeg(bytes)
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP'
  return isWebp ? readWebp(bytes) : null
}
