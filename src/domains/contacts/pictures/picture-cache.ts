import type { Outbound } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { maxCachedPictureBytes, maxPictureBytes, maxPicturePixels, pictureCacheMs, pictureIdleMs } from '../limits.ts'
import { imageFormatOf } from './image-format.ts'

/** A picture, or why there is none. */
export type Picture = { readonly type: string; readonly bytes: Buffer } | { readonly missing: string }

/** Bytes that an entry takes besides its picture. */
const entryBytes = 512

const read = async (outbound: Outbound, url: string): Promise<Picture> => {
  const { status, length, body } = await outbound.get({ url, idleMs: pictureIdleMs })
  try {
    if (status !== 200) return { missing: `its address answered ${status}` }
    if ((length ?? 0) > maxPictureBytes) return { missing: `it has over ${maxPictureBytes} bytes` }
    const pieces: Buffer[] = []
    let size = 0
    for await (const piece of body) {
      size += piece.length
      if (size > maxPictureBytes) return { missing: `it has over ${maxPictureBytes} bytes` }
      pieces.push(piece)
    }
    const bytes = Buffer.concat(pieces)
    const format = imageFormatOf(bytes)
    if (!format) return { missing: 'its address leads to no JPEG, PNG, GIF or WebP' }
    const side = Math.max(format.width, format.height)
    if (side > maxPicturePixels) return { missing: `it has ${side} pixels a side, and may have ${maxPicturePixels}` }
    return { type: format.type, bytes }
  } finally {
    body.destroy()
  }
}

const download = async (outbound: Outbound, url: string): Promise<Picture> => {
  try {
    return await read(outbound, url)
  } catch (error) {
    if (error instanceof OutboundError) return { missing: `its address ${error.message}` }
    return { missing: 'its address broke the connection' }
  }
}

type Entry = { readonly picture: Picture; readonly until: number; readonly size: number }

/** Pictures by their address, the last used at the end. Addresses that fail are remembered for a shorter time. */
export const makePictureCache = () => {
  const entries = new Map<string, Entry>()
  const running = new Map<string, Promise<Picture>>()
  let bytes = 0

  const forget = (key: string): void => {
    bytes -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }

  const remember = (key: string, picture: Picture): void => {
    forget(key)
    const isFound = 'bytes' in picture
    const size = key.length + entryBytes + (isFound ? picture.bytes.length : picture.missing.length)
    entries.set(key, { picture, until: Date.now() + (isFound ? pictureCacheMs.found : pictureCacheMs.missing), size })
    bytes += size
    for (const oldest of entries.keys()) {
      if (bytes <= maxCachedPictureBytes) return
      forget(oldest)
    }
  }

  /** @param account whose client it is: what one account may reach is no answer to another */
  return async (outbound: Outbound, account: string, url: string): Promise<Picture> => {
    const key = `${account} ${url}`
    const known = entries.get(key)
    if (known && known.until > Date.now()) {
      entries.delete(key)
      entries.set(key, known)
      return known.picture
    }
    const started =
      running.get(key) ??
      download(outbound, url).then((picture) => {
        running.delete(key)
        remember(key, picture)
        return picture
      })
    running.set(key, started)
    return started
  }
}
