import { e164, fitsCountry } from '@trunkline/phone/phone.ts'
import { linesOf, UnreadableCsv, withinColumns } from '../../../platform/lib/csv.ts'
import type { ImportError } from '../../../platform/lib/import-errors.ts'
import type { TextFile } from '../../../platform/lib/text-encoding.ts'
import { maxRememberedLines, readBatchSize } from '../limits.ts'
import type { ImportGroup, ImportGroups } from './import-groups.ts'
import { type Column, type ImportHeader, parseHeader } from './import-header.ts'
import { type LineGroup, parseLineGroup } from './line-group.ts'
import type { PlaceIndex } from './place-index.ts'

/** A valid line. */
export type ImportLine = { readonly line: number; readonly number: string; readonly group: ImportGroup }

/** A batch of lines of a file, the valid ones and the faults. */
export type LineBatch = { entries: ImportLine[]; faults: ImportError[]; lines: number }

/** Lines that differ only in their number share a group: it is resolved once. */
const makeReader = (head: ImportHeader, places: PlaceIndex, groups: ImportGroups) => {
  const known = new Map<string, LineGroup | string[]>()
  const numberAt = head.at.get('number') ?? 0

  const lineGroupOf = (cells: readonly string[]): LineGroup | string[] => {
    const key = cells.map((cell, i) => (i === numberAt ? '' : cell)).join('\u001f')
    const found = known.get(key)
    if (found) return found
    const text = (column: Column) => cells[head.at.get(column) ?? -1] ?? ''
    const parsed = parseLineGroup(text, places)
    if (known.size >= maxRememberedLines) known.clear()
    known.set(key, parsed)
    return parsed
  }

  return (line: number, all: readonly string[]): ImportLine | string => {
    const cells = withinColumns(all, head.width)
    if (cells.length !== head.width) return `there are ${cells.length} fields, but ${head.width} in the header`
    const text = cells[numberAt] ?? ''
    const number = e164(text)
    const lineGroup = lineGroupOf(cells)
    const faults: string[] = []
    if (number === null) faults.push(`number must be E.164, such as +442079460958, not "${text.slice(0, 40)}"`)
    if (Array.isArray(lineGroup)) faults.push(...lineGroup)
    else if (number !== null && !fitsCountry(number, lineGroup.iso))
      faults.push(`${number} is not a number of ${lineGroup.iso}`)
    if (number === null || Array.isArray(lineGroup) || faults.length > 0) return faults.join('; ')
    const group = groups.find(lineGroup, line)
    if (typeof group === 'string') return group
    groups.widen(group, number)
    return { line, number, group }
  }
}

/** Reads a file in batches, at the consumer's pace. Every line is validated, whatever the faults before it. */
export async function* readImport(file: TextFile, places: PlaceIndex, groups: ImportGroups): AsyncGenerator<LineBatch> {
  let read: ReturnType<typeof makeReader> | null = null
  let batch: LineBatch = { entries: [], faults: [], lines: 0 }
  const fault = (line: number, error: string) => batch.faults.push({ line, error })
  try {
    for await (const { line, cells } of linesOf(file)) {
      if (read === null) {
        const head = parseHeader(cells)
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
      if (batch.lines < readBatchSize) continue
      yield batch
      batch = { entries: [], faults: [], lines: 0 }
    }
    if (read === null && batch.faults.length === 0) fault(1, 'the file is empty')
  } catch (error) {
    if (!(error instanceof UnreadableCsv)) throw error
    fault(error.line, error.message)
  }
  yield batch
}
