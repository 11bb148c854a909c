import { storable } from './storable.ts'

export type ImportError = { readonly line: number; readonly error: string }

/** Maximum number of errors that are listed; the rest are only counted. */
export const maxListedErrors = 1000

/** Errors of the lines of an import: all are counted, the first are listed. */
export type ImportErrors = {
  /** @param count number of errors, if `found` has only some of them. Default: the length of `found`. */
  add(found: readonly ImportError[], count?: number): void
  readonly count: number
  readonly listed: readonly ImportError[]
  readonly isFull: boolean
}

/** Removes control characters from a message and truncates it, as it may quote any content of the file. */
const printable = (text: string): string => storable(text.slice(0, 500).replace(/\p{Cc}/gu, ' '))

export const makeImportErrors = (): ImportErrors => {
  const listed: ImportError[] = []
  let count = 0
  return {
    add: (found, all = found.length) => {
      count += all
      const room = Math.max(0, maxListedErrors - listed.length)
      listed.push(...found.slice(0, room).map(({ line, error }) => ({ line, error: printable(error) })))
      listed.sort((a, b) => a.line - b.line)
    },
    get count() {
      return count
    },
    listed: listed,
    get isFull() {
      return listed.length >= maxListedErrors
    },
  }
}
