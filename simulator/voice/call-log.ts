import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Handsets } from '../handsets.ts'
import { Journal } from '../journal.ts'
import type { Tone } from './tone-detector.ts'

export type CallState = 'ringing' | 'answered' | 'completed' | 'busy' | 'no_answer' | 'rejected' | 'canceled' | 'failed'

/** A call of a handset: `inbound` it received, `outbound` it placed. Times are Unix milliseconds. */
export type CallItem = {
  readonly number: string
  readonly direction: 'inbound' | 'outbound'
  readonly peer: string
  readonly id: string
  /** The Call-ID on the trunk. */
  readonly callId: string
  readonly at: number
  state: CallState
  /** The last SIP status; 0 before there is one. */
  status: number
  answeredAt: number | null
  endedAt: number | null
  digits: string
  tones: readonly Tone[]
}

export type CallChange = Partial<Pick<CallItem, 'state' | 'status' | 'answeredAt' | 'endedAt' | 'digits' | 'tones'>>

type Entry = ['item', CallItem] | ['news', string, string, CallChange]

const compactAfterLines = 50_000
/** Maximum recorded files, at most 1 MB each. */
const maxFiles = 100

/** Calls of the handsets. Every change is in the journal before anyone is notified of it. */
export class CallLog {
  readonly items = new Handsets<CallItem>()
  private readonly journal: Journal
  private readonly folder: string
  private readonly files: string[]

  constructor(home: string) {
    this.folder = join(home, 'heard')
    mkdirSync(this.folder, { recursive: true })
    // File names are UUIDs version 7, which sort by time.
    this.files = readdirSync(this.folder).sort()
    this.journal = new Journal(join(home, 'calls.jsonl'), (entry) => this.load(entry as Entry)) // written by this class
    // A kill ended these calls.
    for (const [, item] of this.entries())
      if (item.endedAt === null) Object.assign(item, { state: 'failed', endedAt: item.at })
    this.journal.rewrite(this.entries())
  }

  begin(item: CallItem): void {
    this.write(['item', item])
  }

  record({ number, id }: Pick<CallItem, 'number' | 'id'>, news: CallChange): void {
    this.write(['news', number, id, news])
  }

  /** Path of a call's recording; the oldest file is deleted above the limit. */
  fileOf(id: string): string {
    const name = `${id}.wav`
    this.files.push(name)
    while (this.files.length > maxFiles) rmSync(join(this.folder, this.files.shift() ?? ''), { force: true })
    return join(this.folder, name)
  }

  close(): void {
    this.journal.close()
  }

  private write(entry: Entry): void {
    this.load(entry)
    this.journal.append(entry)
    this.journal.flush()
    if (this.journal.length > compactAfterLines && this.journal.length > 4 * this.items.items)
      this.journal.rewrite(this.entries())
  }

  private load(entry: Entry): void {
    if (entry[0] === 'item') {
      this.items.add(entry[1])
      return
    }
    const item = this.items.itemsOf(entry[1]).findLast(({ id }) => id === entry[2])
    if (item) Object.assign(item, entry[3])
  }

  private *entries(): Generator<['item', CallItem]> {
    for (const entry of this.items.entries()) if (entry[0] === 'item') yield entry
  }
}
