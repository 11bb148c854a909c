import { closeSync, fchmodSync, fsyncSync, openSync, readSync, renameSync, writeSync } from 'node:fs'

/** Characters per write while a journal is rewritten. */
const batch = 262_144

/** Complete lines of a file, read in chunks; an incomplete last line was cut off by a kill and is skipped. */
const linesOf = function* (path: string): Generator<string> {
  const file = openSync(path, 'a+', 0o600)
  fchmodSync(file, 0o600)
  const piece = Buffer.allocUnsafe(65_536)
  let rest = Buffer.alloc(0)
  for (let size = readSync(file, piece, 0, piece.length, 0), at = 0; size > 0; ) {
    rest = Buffer.concat([rest, piece.subarray(0, size)])
    let start = 0
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, start)) {
      yield rest.toString('utf8', start, end)
      start = end + 1
    }
    rest = rest.subarray(start)
    at += size
    size = readSync(file, piece, 0, piece.length, at)
  }
  closeSync(file)
}

/**
 * A file of JSON lines that survives a kill: lines flushed before a response remain. Not synced to disk: a power
 * failure may lose the last seconds.
 */
export class Journal {
  private readonly path: string
  private file: number
  private pending: string[] = []
  private isClosed = false
  /** Lines in the file, including pending ones. */
  length = 0

  /** Opens or creates the journal; `load` receives every entry in order. */
  constructor(path: string, load: (entry: unknown) => void) {
    this.path = path
    for (const line of linesOf(path)) {
      try {
        load(JSON.parse(line))
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
      }
    }
    this.file = openSync(path, 'a')
  }

  append(entry: unknown): void {
    this.pending.push(JSON.stringify(entry))
    this.length++
  }

  /** Writes all pending lines to the operating system. */
  flush(): void {
    if (this.pending.length === 0 || this.isClosed) return
    const lines = `${this.pending.join('\n')}\n`
    this.pending = []
    writeAll(this.file, lines)
  }

  /** Replaces the file by these entries, atomically. */
  rewrite(entries: Iterable<unknown>): void {
    this.flush()
    const fresh = openSync(`${this.path}.new`, 'w')
    let text = ''
    this.length = 0
    for (const entry of entries) {
      text += `${JSON.stringify(entry)}\n`
      this.length++
      if (text.length < batch) continue
      writeAll(fresh, text)
      text = ''
    }
    writeAll(fresh, text)
    fsyncSync(fresh)
    closeSync(fresh)
    renameSync(`${this.path}.new`, this.path)
    closeSync(this.file)
    this.file = openSync(this.path, 'a')
  }

  close(): void {
    this.flush()
    this.isClosed = true
    closeSync(this.file)
  }
}

const writeAll = (file: number, text: string): void => {
  const octets = Buffer.from(text)
  for (let written = 0; written < octets.length; ) written += writeSync(file, octets, written)
}
