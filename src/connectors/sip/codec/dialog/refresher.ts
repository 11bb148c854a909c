import { minSeOf, sessionExpiresOf } from '../fields.ts'
import type { Header, SipRequest, SipResponse } from '../message.ts'
import type { Timers } from '../timers.ts'
import { lists } from './dialog.ts'

/** How a session is kept alive (RFC 4028). */
export type Interval = { readonly seconds: number; readonly isOurs: boolean }

/** The least that anybody may ask for (RFC 4028, 5). */
export const leastSeconds = 90

/** What an INVITE or UPDATE of ours asks for. */
export const askedInterval = (seconds: number, refresher?: 'uac' | 'uas'): Header[] =>
  seconds === 0
    ? []
    : [
        ['Session-Expires', `${seconds}${refresher ? `;refresher=${refresher}` : ''}`],
        ['Min-SE', String(leastSeconds)],
      ]

/** What the peer's 2xx to ours agreed to; null for nothing. */
export const agreedByPeer = (response: SipResponse): Interval | null => {
  const asked = sessionExpiresOf(response)
  return asked && { seconds: Math.max(asked.seconds, leastSeconds), isOurs: asked.refresher !== 'uas' }
}

/** True when what is asked for is too short: 422. */
export const isTooShort = (request: SipRequest): boolean => {
  const asked = sessionExpiresOf(request)
  return asked !== null && asked.seconds < leastSeconds
}

/** What we agree to in a 2xx, and the headers that say it (RFC 4028, 9). Null when the peer does not know of intervals. */
export const agreedByUs = (request: SipRequest, ours: number): { interval: Interval; headers: Header[] } | null => {
  const asked = sessionExpiresOf(request)
  const seconds = asked?.seconds ?? (ours === 0 ? 0 : Math.max(ours, minSeOf(request) ?? leastSeconds))
  if (!lists(request, 'Supported', 'timer') || seconds === 0) return null
  const isOurs = asked?.refresher !== 'uac'
  const headers: Header[] = [['Session-Expires', `${seconds};refresher=${isOurs ? 'uas' : 'uac'}`]]
  return { interval: { seconds, isOurs }, headers: isOurs ? headers : [...headers, ['Require', 'timer']] }
}

/** The clock of one session: asks for a refresh at half time, or says when the peer's has not come. */
export class Refresher {
  private readonly timers: Timers
  private readonly events: { refresh(): void; expired(): void }
  private stopRefresh = () => {}
  private stopExpiry = () => {}

  constructor(timers: Timers, events: { refresh(): void; expired(): void }) {
    this.timers = timers
    this.events = events
  }

  /** Begins anew, with each refresh of either side. Null: there is no interval. */
  restart(interval: Interval | null): void {
    this.stop()
    if (!interval) return
    const { seconds, isOurs } = interval
    if (isOurs) this.stopRefresh = this.timers.after(seconds * 500, this.events.refresh)
    // 10: so long before the end that the BYE still arrives in it.
    const margin = Math.min(32, seconds / 3)
    this.stopExpiry = this.timers.after((seconds - margin) * 1_000, this.events.expired)
  }

  stop(): void {
    this.stopRefresh()
    this.stopExpiry()
  }
}
