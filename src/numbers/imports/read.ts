import type { Readable } from 'node:stream'
import { BrokenFile, linesOf } from '../../lib/csv.ts'
import type { Fault } from '../../lib/faults.ts'
import { e164, fitsCountry } from '../../lib/phone.ts'
import type { Found, Groups } from './groups.ts'
import { type Column, type Head, readHead } from './head.ts'
import type { Places } from './places.ts'
import { readWanted, type Wanted } from './wanted.ts'

/** A good line. */
export type Entry = { readonly line: number; readonly number: string; readonly group: Found }

/** Some lines of a file: those that are good by themselves, and those that are not. */
export type Batch = { entries: Entry[]; faults: Fault[]; lines: number }

const size = 2_500
const remembered = 10_000

/** Lines of a file that say the same but for their number say the same of their group: it is made out once. */
const makeReader = (head: Head, places: Places, groups: Groups) => {
  const known = new Map<string, Wanted | string[]>()
  const numberAt = head.at.get('number') ?? 0

  const wantedOf = (cells: readonly string[]): Wanted | string[] => {
    const key = cells.map((cell, i) => (i === numberAt ? '' : cell)).join('\u001f')
    const found = known.get(key)
    if (found) return found
    const text = (column: Column) => cells[head.at.get(column) ?? -1] ?? ''
    const made = readWanted(text, places)
    if (known.size >= remembered) known.clear()
    known.set(key, made)
    return made
  }

  return (line: number, cells: readonly string[]): Entry | string => {
    if (cells.length !== head.width) return `there are ${cells.length} fields, and ${head.width} in the head`
    const given = cells[numberAt] ?? ''
    const number = e164(given)
    const wanted = wantedOf(cells)
    const faults: string[] = []
    if (number === null) faults.push(`number must be E.164, such as +442079460958, not "${given.slice(0, 40)}"`)
    if (Array.isArray(wanted)) faults.push(...wanted)
    else if (number !== null && !fitsCountry(number, wanted.iso)) faults.push(`${number} is no number of ${wanted.iso}`)
    if (number === null || Array.isArray(wanted) || faults.length > 0) return faults.join('; ')
    const group = groups.find(wanted, line)
    if (typeof group === 'string') return group
    groups.widen(group, number)
    return { line, number, group }
  }
}

/** Reads a file some lines at a time, as fast as they are taken. Every line is looked at, whatever is wrong before it. */
export async function* readFile(body: Readable, places: Places, groups: Groups): AsyncGenerator<Batch> {
  let read: ReturnType<typeof makeReader> | null = null
  let batch: Batch = { entries: [], faults: [], lines: 0 }
  const fault = (line: number, error: string) => batch.faults.push({ line, error })
  try {
    for await (const { line, cells } of linesOf(body)) {
      if (read === null) {
        const head = readHead(cells)
        if (Array.isArray(head)) {
          fault(line, head.join('; '))
          break
        }
        read = makeReader(head, places, groups)
        continue
      }
      const found = read(line, cells)
      if (typeof found === 'string') fault(line, found)
      else batch.entries.push(found)
      batch.lines++
      if (batch.lines < size) continue
      yield batch
      batch = { entries: [], faults: [], lines: 0 }
    }
    if (read === null && batch.faults.length === 0) fault(1, 'the file is empty')
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error
    fault(error.line, error.message)
  }
  yield batch
}
