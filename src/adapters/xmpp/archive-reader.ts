import { randomUUID } from 'node:crypto'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import type { Wire } from '@trunkline/xmpp/wire.ts'
import { child, descendant, textOf, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import { form } from './forms.ts'
import { archivePageSize } from './limits.ts'
import { forwarded } from './message-parser.ts'

/** Errors of an entity that has no archive. */
const noArchiveErrors = new Set(['service-unavailable', 'feature-not-implemented', 'item-not-found', 'forbidden'])

/** A message from an archive, with the archive's id and time. */
export type ArchivedMessage = { readonly message: XmlElement; readonly id: string; readonly at: number }

/** Queries archives and collects their results (XEP-0313). */
export class ArchiveReader {
  /** Reason why the last query failed. */
  lastError = ''
  private readonly wire: Wire
  private readonly queries = new Map<string, { readonly of: string; readonly found: ArchivedMessage[] }>()

  constructor(wire: Wire) {
    this.wire = wire
  }

  /** @returns whether the stanza was an archive result; only results from the queried archive are accepted */
  takeResult(message: XmlElement): boolean {
    const result = child(message, 'result', ns.archive)
    if (!result) return false
    const query = this.queries.get(result.attrs.queryid ?? '')
    const inner = forwarded(result)
    if (!query || (message.attrs.from ?? this.wire.self) !== query.of || query.found.length > archivePageSize)
      return true
    const { id } = result.attrs
    if (inner?.stamp && id) query.found.push({ message: inner.message, id, at: inner.stamp })
    return true
  }

  /**
   * Reads everything since a time, page by page. The next page is requested after the last one was persisted.
   * @param owner address of the archive: our own account or a group
   * @returns `none` when there is no archive
   */
  async readSince(
    since: number,
    owner: string,
    persist: (one: ArchivedMessage) => Promise<void>,
  ): Promise<'all' | 'none' | 'lost'> {
    const filter = form(ns.archive, { start: new Date(since).toISOString() })
    let after: string | null = null
    for (;;) {
      const queryid = randomUUID()
      const found: ArchivedMessage[] = []
      this.queries.set(queryid, { of: owner, found })
      const paging: XmlElement = xml(
        'set',
        ns.paging,
        {},
        xml('max', ns.paging, {}, String(archivePageSize)),
        after === null ? null : xml('after', ns.paging, {}, after),
      )
      const query = xml('query', ns.archive, { queryid }, filter, paging)
      const to = owner === this.wire.self ? undefined : owner
      const answer = await this.wire.request(xml('iq', '', { type: 'set', to }, query), 30_000)
      this.queries.delete(queryid)
      for (const one of found) await persist(one)
      if (answer.outcome !== 'result') {
        this.lastError = answer.reason
        return answer.outcome === 'error' && noArchiveErrors.has(answer.condition) ? 'none' : 'lost'
      }
      const end = child(answer.iq, 'fin', ns.archive)
      const last: string = textOf(end && descendant(end, ns.paging, 'set', 'last'))
      if (!end || end.attrs.complete === 'true' || last === '' || last === after) return 'all'
      after = last
    }
  }
}
