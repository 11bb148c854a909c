/** Bencode (BEP 3) of rtpengine's ng protocol. Strings are bytes there, and text here. */
export type BencodeValue = string | number | readonly BencodeValue[] | { readonly [key: string]: BencodeValue }

/** A value to encode, which may also contain binary data. */
export type Bencodable = string | number | Buffer | readonly Bencodable[] | { readonly [key: string]: Bencodable }

export const encode = (value: Bencodable): Buffer => {
  if (typeof value === 'number') return Buffer.from(`i${Math.trunc(value)}e`)
  if (typeof value === 'string' || Buffer.isBuffer(value)) {
    const bytes = Buffer.from(value)
    return Buffer.concat([Buffer.from(`${bytes.length}:`), bytes])
  }
  if (isList(value)) return Buffer.concat([Buffer.from('l'), ...value.map(encode), Buffer.from('e')])
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Buffer.concat([Buffer.from('d'), ...entries.flatMap((pair) => pair.map(encode)), Buffer.from('e')])
}

const isList = (value: Bencodable): value is readonly Bencodable[] => Array.isArray(value)

const maxDepth = 32

/** @throws Error if the input is not bencoded, is nested deeper than 32, or is truncated */
export const decode = (bytes: Buffer): BencodeValue => {
  let at = 0
  const until = (end: string): string => {
    const stop = bytes.indexOf(end, at)
    if (stop < 0) throw new Error('bencode: input is truncated')
    const text = bytes.toString('latin1', at, stop)
    at = stop + 1
    return text
  }
  const number = (text: string): number => {
    if (!/^-?\d{1,15}$/.test(text)) throw new Error(`bencode: ${text.slice(0, 20)} is not a number`)
    return Number(text)
  }
  const string = (): string => {
    const length = number(until(':'))
    if (length < 0 || at + length > bytes.length) throw new Error('bencode: input is truncated')
    const text = bytes.toString('utf8', at, at + length)
    at += length
    return text
  }
  const isAt = (end: string) => {
    if (at >= bytes.length) throw new Error('bencode: input is truncated')
    if (bytes[at] !== end.charCodeAt(0)) return false
    at++
    return true
  }
  const read = (depth: number): BencodeValue => {
    if (depth > maxDepth) throw new Error('bencode: nested too deep')
    if (isAt('i')) return number(until('e'))
    if (isAt('l')) {
      const list: BencodeValue[] = []
      while (!isAt('e')) list.push(read(depth + 1))
      return list
    }
    if (isAt('d')) {
      const entries: [string, BencodeValue][] = []
      while (!isAt('e')) entries.push([string(), read(depth + 1)])
      return Object.fromEntries(entries)
    }
    return string()
  }
  return read(0)
}
