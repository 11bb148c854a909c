import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Handsets } from '../handsets.ts'
import { Journal } from '../journal.ts'
import type { Tone } from './ear.ts'

export type CallState = 'ringing' | 'answered' | 'completed' | 'busy' | 'no_answer' | 'rejected' | 'canceled' | 'failed'

/** A call as its handset saw it: `inbound` came to it, `outbound` it made. Times are Unix milliseconds. */
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

export type CallNews = Partial<Pick<CallItem, 'state' | 'status' | 'answeredAt' | 'endedAt' | 'digits' | 'tones'>>

type Entry = ['item', CallItem] | ['news', string, string, CallNews]

const longJournal = 50_000
/** Files of what was heard, 1 MB each at most. */
const mostFiles = 100

/** The calls of the handsets: in the journal before anybody is told. */
export class CallBook {
  readonly items = new Handsets<CallItem>()
  private readonly journal: Journal
  private readonly folder: string
  private readonly files: string[]

  constructor(home: string) {
    this.folder = join(home, 'heard')
    mkdirSync(this.folder, { recursive: true })
    // Their names are UUIDs version 7, which sort by time.
    this.files = readdirSync(this.folder).sort()
    this.journal = new Journal(join(home, 'calls.jsonl'), (entry) => this.load(entry as Entry)) // our own file
    // A kill ended it.
    for (const [, item] of this.entries())
      if (item.endedAt === null) Object.assign(item, { state: 'failed', endedAt: item.at })
    this.journal.rewrite(this.entries())
  }

  begin(item: CallItem): void {
    this.write(['item', item])
  }

  note({ number, id }: Pick<CallItem, 'number' | 'id'>, news: CallNews): void {
    this.write(['news', number, id, news])
  }

  /** Where what a call hears is kept; the oldest file goes when there are too many. */
  fileOf(id: string): string {
    const name = `${id}.wav`
    this.files.push(name)
    while (this.files.length > mostFiles) rmSync(join(this.folder, this.files.shift() ?? ''), { force: true })
    return join(this.folder, name)
  }

  close(): void {
    this.journal.close()
  }

  private write(entry: Entry): void {
    this.load(entry)
    this.journal.append(entry)
    this.journal.flush()
    if (this.journal.length > longJournal && this.journal.length > 4 * this.items.items)
      this.journal.rewrite(this.entries())
  }

  private load(entry: Entry): void {
    if (entry[0] === 'item') {
      this.items.add(entry[1])
      return
    }
    const item = this.items.seen(entry[1]).findLast(({ id }) => id === entry[2])
    if (item) Object.assign(item, entry[3])
  }

  private *entries(): Generator<['item', CallItem]> {
    for (const entry of this.items.entries()) if (entry[0] === 'item') yield entry
  }
}
