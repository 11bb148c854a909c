import { isAscii, isUtf8 } from 'node:buffer'
import { Worker } from 'node:worker_threads'

// The encoding of text files. Encodings have their names of the WHATWG Encoding Standard, in lower case.

/** Bytes from which the beginning of a file shows UTF-16 without a byte order mark. */
const headBytes = 1024

/** Bytes that decide the encoding, from shortly before the first one that is not ASCII. */
const sampleBytes = 64 * 1024
const contextBytes = 1024

/** The usual encoding of Windows in Western Europe and America: of what nothing else explains. */
const fallback = 'windows-1252'

/** Returns the encoding of a label such as `Latin1` or `CP1251`, or null if it is unknown. */
export const encodingOf = (label: string): string | null => {
  const name = label.trim().toLowerCase()
  for (const each of [name, name.replace(/^cp-?(125\d|874)$/, 'windows-$1'), name.replace(/^mac-?roman$/, 'macintosh')])
    try {
      return new TextDecoder(each).encoding
    } catch {}
  return null
}

/** Counts the characters of several bytes and the faults of a text as UTF-8. A character cut off at the end is none. */
const countUtf8 = (bytes: Uint8Array): { characters: number; faults: number } => {
  let [characters, faults] = [0, 0]
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0
    const size =
      lead < 0x80
        ? 1
        : lead >= 0xc2 && lead < 0xe0
          ? 2
          : lead >= 0xe0 && lead < 0xf0
            ? 3
            : lead >= 0xf0 && lead < 0xf5
              ? 4
              : 0
    let length = 1
    while (length < size && ((bytes[at + length] ?? 0) & 0xc0) === 0x80) length++
    const isCut = at + length === bytes.length && length < size
    if (size > 1 && length === size) characters++
    else if (size !== 1 && !isCut) faults++
    at += length
  }
  return { characters, faults }
}

/**
 * Returns true for UTF-8, also with some lines that are not: in another encoding, few pairs of bytes are characters of
 * UTF-8 by chance, and the others would be faults.
 */
const isMostlyUtf8 = (bytes: Uint8Array): boolean => {
  const { characters, faults } = countUtf8(bytes)
  return faults === 0 || (characters > 0 && characters >= faults)
}

/** Returns the form of UTF-16 that the beginning of a file has, by its mark or by the zeros of its ASCII letters. */
const utf16Of = (head: Uint8Array): string | null => {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  const zeros = [0, 0]
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  const many = head.length / 10
  if (odd > many && even < many / 10) return 'utf-16le'
  return even > many && odd < many / 10 ? 'utf-16be' : null
}

/** Milliseconds after which a detector without work ends, and frees its tables: 25 MB, made in 200 ms. */
const detectorIdleMs = 30_000

let detector: Worker | null = null
let answered: (encoding: string) => void = () => {}
let idle: NodeJS.Timeout | undefined
let waiting: Promise<unknown> = Promise.resolve()

const startDetector = (): Worker => {
  const worker = new Worker(new URL('./encoding-worker.ts', import.meta.url), { name: 'encoding' })
  worker.on('message', (found) => answered(String(found)))
  worker.on('error', () => {})
  worker.on('exit', () => {
    if (detector !== worker) return
    detector = null
    answered(fallback)
  })
  return worker
}

const endDetector = (): void => {
  const worker = detector
  detector = null
  void worker?.terminate()
}

/** Detects in a thread, one sample at a time. */
const detectInThread = (sample: Uint8Array): Promise<string> => {
  const run = async () => {
    clearTimeout(idle)
    detector ??= startDetector()
    const worker = detector
    const { promise, resolve } = Promise.withResolvers<string>()
    answered = resolve
    // The thread keeps the process alive only while it works.
    worker.ref()
    worker.postMessage(sample)
    const encoding = await promise
    worker.unref()
    idle = setTimeout(endDetector, detectorIdleMs).unref()
    return encoding
  }
  const found = waiting.then(run)
  waiting = found.catch(() => {})
  return found
}

/**
 * Detects the encoding of a text that has a byte beyond ASCII.
 * @param label the encoding that its sender states. UTF-8 is not believed without proof: programs state it by default
 */
const detect = async (sample: Uint8Array, label: string | null): Promise<string> => {
  if (isMostlyUtf8(sample)) return 'utf-8'
  return label !== null && label !== 'utf-8' ? label : await detectInThread(sample)
}

/** A text file that is read as a stream. */
export type TextFile = {
  /** The bytes of the file, those of UTF-16 as UTF-8. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** The encoding of what was read so far: UTF-8 until a byte is not ASCII. */
  readonly encoding: string
  /** The encoding of `bytes`: as `encoding`, but UTF-8 for UTF-16. */
  readonly bytesEncoding: string
}

/** Splits a stream into its first bytes, at least `size` unless it is shorter, and the rest. */
async function take(pieces: AsyncIterator<Uint8Array>, size: number, first: Uint8Array = new Uint8Array()) {
  const held = [first]
  let length = first.length
  let isEnd = false
  while (length < size && !isEnd) {
    const next = await pieces.next()
    isEnd = next.done === true
    if (next.done) break
    held.push(next.value)
    length += next.value.length
  }
  return { bytes: Buffer.concat(held), isEnd }
}

/**
 * Detects the encoding of a text file while it is read. Holds at most 64 KiB and a chunk.
 * @param label the encoding that the sender states
 */
export const readText = (
  body: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
  label?: string,
): TextFile => {
  const stated = label === undefined ? null : encodingOf(label)
  let encoding = 'utf-8'
  const isUtf16 = () => encoding.startsWith('utf-16')

  async function* bytesOf(): AsyncGenerator<Uint8Array> {
    const pieces = asBytes(body)
    try {
      const head = await take(pieces, headBytes)
      const utf16 = utf16Of(head.bytes)
      if (utf16 !== null) {
        encoding = utf16
        const decoder = new TextDecoder(utf16)
        yield Buffer.from(decoder.decode(head.bytes, { stream: true }))
        for await (const piece of pieces) yield Buffer.from(decoder.decode(piece, { stream: true }))
        yield Buffer.from(decoder.decode())
        return
      }
      let piece = head.bytes
      while (isAscii(piece)) {
        yield piece
        const next = await pieces.next()
        if (next.done) return
        piece = Buffer.from(next.value)
      }
      const from = Math.max(0, piece.findIndex((byte) => byte >= 0x80) - contextBytes)
      yield piece.subarray(0, from)
      const sample = await take(pieces, sampleBytes, piece.subarray(from))
      encoding = await detect(sample.bytes.subarray(0, sampleBytes), stated)
      yield sample.bytes
      yield* pieces
    } finally {
      await pieces.return?.(undefined)
    }
  }

  return {
    bytes: bytesOf(),
    get encoding() {
      return encoding
    },
    get bytesEncoding() {
      return isUtf16() ? 'utf-8' : encoding
    },
  }
}

async function* asBytes(
  body: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of body) yield typeof piece === 'string' ? Buffer.from(piece) : piece
}

/** Returns the bytes of a text file as UTF-8. What is not valid in its encoding becomes U+FFFD, or stays as it is in UTF-8. */
export async function* utf8Of(file: TextFile): AsyncGenerator<Uint8Array> {
  let decoder: TextDecoder | null = null
  for await (const piece of file.bytes) {
    if (file.bytesEncoding === 'utf-8') yield piece
    else {
      decoder ??= new TextDecoder(file.bytesEncoding)
      yield Buffer.from(decoder.decode(piece, { stream: true }))
    }
  }
  if (decoder) yield Buffer.from(decoder.decode())
}

/** Decodes a text file in memory, as `readText` does. */
export const decodeFile = async (bytes: Uint8Array, label?: string): Promise<string> => {
  const pieces: Uint8Array[] = []
  for await (const piece of utf8Of(readText([bytes], label))) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/**
 * Decodes a text whose label may be missing, unknown or false.
 * @param other encoding of a text that has no label and is not UTF-8
 */
export const decodeText = (bytes: Uint8Array, label: string | undefined, other: string): string => {
  const stated = label === undefined ? null : encodingOf(label)
  const isKnown = stated !== null && (stated !== 'utf-8' || isUtf8(bytes))
  const encoding = isKnown ? stated : isUtf8(bytes) ? 'utf-8' : other
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)
}
