import { kindOf, maxBytesOf, shown } from './entry-name.ts'
import { BadBackup } from './envelope.ts'

// A backup holds plain files in the ustar format (POSIX.1-1988). Its passphrase proves no author: a crafted tar file may
// hold links, or a header of 8 GB that a reader keeps in memory. Readers of tar files get the bytes only after this check.
//
//   0  name (100 bytes)   124  size (12)      156  type (1)          257  magic, version (8)
//                         148  checksum (8)   157  link name (100)   345  prefix of the name (155)

const blockBytes = 512
const magic = Buffer.from('ustar\x0000', 'latin1')
const plainFile = '0'.charCodeAt(0)

const textIn = (block: Buffer, start: number, length: number): string => {
  const field = block.subarray(start, start + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}

/** The number of an octal field, or of one in base 256 as writers use it from 8 GiB; null for anything else. */
const numberIn = (block: Buffer, start: number, length: number): number | null => {
  const field = block.subarray(start, start + length)
  if (field[0] === 0x80) {
    const value = BigInt(`0x${field.toString('hex', 1)}`)
    return value <= Number.MAX_SAFE_INTEGER ? Number(value) : null
  }
  const [, digits] = /^([0-7]+)[ \0]*$/.exec(field.toString('latin1')) ?? []
  return digits === undefined ? null : Number.parseInt(digits, 8)
}

const checksumOf = (block: Buffer): number => {
  let sum = 8 * 0x20
  for (const [at, byte] of block.entries()) if (at < 148 || at >= 156) sum += byte
  return sum
}

const nameIn = (block: Buffer): string => {
  const prefix = textIn(block, 345, 155)
  return (prefix === '' ? '' : `${prefix}/`) + textIn(block, 0, 100)
}

/** Checks a header. @returns the size of the file @throws BadBackup */
const checkHeader = (block: Buffer): number => {
  if (!block.subarray(257, 257 + magic.length).equals(magic) || numberIn(block, 148, 8) !== checksumOf(block))
    throw new BadBackup('The backup is not a tar file inside: a header is damaged, or has another format.')
  const name = nameIn(block)
  if (block[156] !== plainFile || block[157] !== 0)
    throw new BadBackup(`The backup has an entry ${shown(name)} that is not a plain file, such as a link.`)
  const entry = kindOf(name)
  if (!entry) throw new BadBackup(`The backup has an entry ${shown(name)} with a name that no version gives.`)
  const size = numberIn(block, 124, 12)
  if (size === null) throw new BadBackup(`The size of the entry ${shown(name)} is not a number.`)
  const most = maxBytesOf(entry)
  if (most !== null && size > most)
    throw new BadBackup(
      `The entry ${shown(name)} has ${size.toLocaleString('en')} bytes; ${most.toLocaleString('en')} are allowed.`,
    )
  return size
}

/** Passes a tar file on, block after block, as far as it is one that a backup contains. @throws BadBackup */
export async function* checkTar(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let header = Buffer.alloc(0)
  let [content, isOver] = [0, false]
  for await (const piece of source) {
    for (let at = 0; at < piece.length; ) {
      if (content > 0) {
        const passed = Math.min(content, piece.length - at)
        content -= passed
        at += passed
        continue
      }
      const taken = piece.subarray(at, at + blockBytes - header.length)
      header = Buffer.concat([header, taken])
      at += taken.length
      if (header.length < blockBytes) continue
      const isZero = header.every((byte) => byte === 0)
      if (isOver && !isZero) throw new BadBackup('The backup has data after the end of its tar file.')
      if (isZero) isOver = true
      else content = Math.ceil(checkHeader(header) / blockBytes) * blockBytes
      header = Buffer.alloc(0)
    }
    yield piece
  }
  if (header.length > 0 || content > 0 || !isOver) throw new BadBackup('The tar file of the backup ends too early.')
}
