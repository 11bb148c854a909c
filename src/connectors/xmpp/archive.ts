import { randomUUID } from 'node:crypto'
import { ns } from './codec/names.ts'
import { child, textOf, within, type Xml, xml } from './codec/xml.ts'
import { form } from './forms.ts'
import { forwarded } from './messages.ts'
import type { Wire } from './wire.ts'

/** Messages of the archive asked for at a time. */
const page = 50

/** Errors of who has no archive. */
const absent = new Set(['service-unavailable', 'feature-not-implemented', 'item-not-found', 'forbidden'])

/** A message of the archive, what the archive calls it, and when it came there. */
export type Archived = { readonly message: Xml; readonly id: string; readonly at: number }

/** Questions to archives, and what comes in answer (XEP-0313). */
export class Archive {
  /** Why the last question was not answered. */
  lastError = ''
  private readonly wire: Wire
  private readonly asked = new Map<string, { readonly of: string; readonly found: Archived[] }>()

  constructor(wire: Wire) {
    this.wire = wire
  }

  /** @returns whether the stanza was a result of ours: only whom was asked may tell */
  take(message: Xml): boolean {
    const result = child(message, 'result', ns.archive)
    if (!result) return false
    const asked = this.asked.get(result.attrs.queryid ?? '')
    const inner = forwarded(result)
    if (!asked || (message.attrs.from ?? this.wire.self) !== asked.of || asked.found.length > page) return true
    const { id } = result.attrs
    if (inner?.stamp && id) asked.found.push({ message: inner.message, id, at: inner.stamp })
    return true
  }

  /**
   * Reads everything since a time, page by page; the next page is asked for once the last one is kept.
   * @param of whose archive: our own, or a group's
   * @returns `none` when there is no archive
   */
  async readSince(since: number, of: string, keep: (one: Archived) => Promise<void>): Promise<'all' | 'none' | 'lost'> {
    const wanted = form(ns.archive, { start: new Date(since).toISOString() })
    let after: string | null = null
    for (;;) {
      const queryid = randomUUID()
      const found: Archived[] = []
      this.asked.set(queryid, { of, found })
      const paging: Xml = xml(
        'set',
        ns.paging,
        {},
        xml('max', ns.paging, {}, String(page)),
        after === null ? null : xml('after', ns.paging, {}, after),
      )
      const query = xml('query', ns.archive, { queryid }, wanted, paging)
      const to = of === this.wire.self ? undefined : of
      const answer = await this.wire.request(xml('iq', '', { type: 'set', to }, query), 30_000)
      this.asked.delete(queryid)
      for (const one of found) await keep(one)
      if (answer.outcome !== 'result') {
        this.lastError = answer.reason
        return answer.outcome === 'error' && absent.has(answer.condition) ? 'none' : 'lost'
      }
      const end = child(answer.iq, 'fin', ns.archive)
      const last: string = textOf(end && within(end, ns.paging, 'set', 'last'))
      if (!end || end.attrs.complete === 'true' || last === '' || last === after) return 'all'
      after = last
    }
  }
}
