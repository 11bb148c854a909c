import { minSeOf, sessionExpiresOf } from '../fields.ts'
import type { Header, SipRequest, SipResponse } from '../message.ts'
import type { Timers } from '../timers.ts'
import { hasToken } from './dialog.ts'

/** The agreed session interval (RFC 4028); `isOurs`: we refresh. */
export type SessionInterval = { readonly seconds: number; readonly isOurs: boolean }

/** Smallest interval that may be requested (RFC 4028, 5). */
export const minSessionSeconds = 90

/** Headers that request an interval in our INVITE or UPDATE. */
export const sessionIntervalHeaders = (seconds: number, refresher?: 'uac' | 'uas'): Header[] =>
  seconds === 0
    ? []
    : [
        ['Session-Expires', `${seconds}${refresher ? `;refresher=${refresher}` : ''}`],
        ['Min-SE', String(minSessionSeconds)],
      ]

/** The interval agreed in the peer's 2xx; null for none. */
export const intervalOfResponse = (response: SipResponse): SessionInterval | null => {
  const requested = sessionExpiresOf(response)
  return requested && { seconds: Math.max(requested.seconds, minSessionSeconds), isOurs: requested.refresher !== 'uas' }
}

/** True when the requested interval is too short (422). */
export const isIntervalTooShort = (request: SipRequest): boolean => {
  const requested = sessionExpiresOf(request)
  return requested !== null && requested.seconds < minSessionSeconds
}

/**
 * The interval we agree to in a 2xx, with its headers (RFC 4028, 9). Null when the peer does not support session
 * timers.
 */
export const negotiateInterval = (
  request: SipRequest,
  ours: number,
): { interval: SessionInterval; headers: Header[] } | null => {
  const requested = sessionExpiresOf(request)
  const seconds = requested?.seconds ?? (ours === 0 ? 0 : Math.max(ours, minSeOf(request) ?? minSessionSeconds))
  if (!hasToken(request, 'Supported', 'timer') || seconds === 0) return null
  const isOurs = requested?.refresher !== 'uac'
  const headers: Header[] = [['Session-Expires', `${seconds};refresher=${isOurs ? 'uas' : 'uac'}`]]
  return { interval: { seconds, isOurs }, headers: isOurs ? headers : [...headers, ['Require', 'timer']] }
}

/** The clock of one session: requests a refresh at half time, or reports that the peer's refresh is missing. */
export class SessionTimer {
  private readonly timers: Timers
  private readonly events: { refresh(): void; expired(): void }
  private stopRefresh = () => {}
  private stopExpiry = () => {}

  constructor(timers: Timers, events: { refresh(): void; expired(): void }) {
    this.timers = timers
    this.events = events
  }

  /** Restarts with each refresh of either side. Null: there is no interval. */
  restart(interval: SessionInterval | null): void {
    this.stop()
    if (!interval) return
    const { seconds, isOurs } = interval
    if (isOurs) this.stopRefresh = this.timers.after(seconds * 500, this.events.refresh)
    // 10: early enough for the BYE to arrive within the interval.
    const margin = Math.min(32, seconds / 3)
    this.stopExpiry = this.timers.after((seconds - margin) * 1_000, this.events.expired)
  }

  stop(): void {
    this.stopRefresh()
    this.stopExpiry()
  }
}
