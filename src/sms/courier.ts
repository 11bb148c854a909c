import { setTimeout as pause } from 'node:timers/promises'
import type { SmsCarrier, SmsPart, SubmitResult } from '../connectors/port.ts'
import { Later } from '../jobs/kind.ts'
import type { LongMode } from '../lib/segments.ts'
import type { Carriers } from './carriers.ts'
import type { Health } from './health.ts'
import type { Candidate } from './route.ts'

/** What became of one part: `doubtful` when the carrier may or may not have it. */
export type Delivery =
  | { readonly outcome: 'accepted'; readonly connection: string; readonly carrierId: string }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'doubtful'; readonly candidate: Candidate }

/** What is told of each submit, before and after. */
export type Diary = {
  /** Before a submit that must not be made twice. */
  before(candidate: Candidate): Promise<void>
  /** After one that must not be made twice: the carrier surely did not take it. */
  untaken(candidate: Candidate): Promise<void>
  after(candidate: Candidate, result: Exclude<SubmitResult, { outcome: 'accepted' }>): Promise<void>
}

/** Refusals for congestion after which another connection is tried, where there is one. */
const patience = 5
/** Longest wait for room before a text goes back to the queue. */
const roomMs = 10_000
/** Texts that may wait for the room of one connection: more would keep those of other connections from being claimed. */
const mostWaiting = 64
/** Longest wait for the turn of a sender before its text goes back to the queue, in seconds. */
const mostPause = 1
/** A carrier that is down is asked for again after a quarter of the time that it has been down, in seconds. */
const soonest = 1
const latest = 10

/** Congestion of a carrier that did not say for how long: 0.2, 0.4 … 5 s. */
const restOf = (tries: number) => Math.min(5_000, 100 * 2 ** tries)

export type Courier = {
  /**
   * Brings one part to the first carrier that takes it: the candidates in their order, those that are down or ill last.
   * @throws Later when none is connected, or its room did not come in time
   */
  carry(
    candidates: readonly Candidate[],
    partFor: (candidate: Candidate) => SmsPart,
    diary: Diary,
    signal: AbortSignal,
  ): Promise<Delivery>
}

export const makeCourier = (carriers: Carriers, health: Health): Courier => {
  const waiting = new Map<string, number>()

  const downSeconds = (candidates: readonly Candidate[]): number => {
    const since = Math.max(...candidates.map(({ connection }) => carriers.state(connection)?.since ?? 0))
    const seconds = (Date.now() - since) / 4_000
    return Math.max(soonest, Math.min(latest, seconds))
  }

  /** The best that is connected: one that is well, or else any. */
  const best = (candidates: readonly Candidate[]): { candidate: Candidate; carrier: SmsCarrier } => {
    let second: { candidate: Candidate; carrier: SmsCarrier } | null = null
    for (const candidate of candidates) {
      const carrier = carriers.bound(candidate.connection)
      if (!carrier) continue
      if (health.isWell(candidate.connection)) return { candidate, carrier }
      second ??= { candidate, carrier }
    }
    if (second) return second
    throw new Later('no carrier for it is connected', downSeconds(candidates))
  }

  const awaitRoom = async ({ connection }: Candidate, signal: AbortSignal): Promise<void> => {
    if (carriers.roomOf(connection) > 0) return
    const others = waiting.get(connection) ?? 0
    if (others >= mostWaiting) throw new Later('the carrier has no room', 0.5)
    waiting.set(connection, others + 1)
    const found = await carriers.whenRoom(connection, roomMs, signal)
    waiting.set(connection, (waiting.get(connection) ?? 1) - 1)
    if (!found) throw new Later(signal.aborted ? 'the worker stops' : 'the carrier has no room', 0)
  }

  return {
    carry: async (candidates, partFor, diary, signal) => {
      let left = [...candidates]
      let tries = 0
      let submits = 0
      /** Submits that went no further than our own window, pace or link: no sign of congestion. */
      let own = 0
      for (;;) {
        // Its lease is lost, or the worker stops: somebody else goes on from here.
        if (signal.aborted) stop()
        const { candidate, carrier } = best(left)
        const { connection, policy } = candidate
        await awaitRoom(candidate, signal)
        if (carriers.bound(connection) !== carrier) continue // it went while we waited
        const isCareful = policy !== 'resubmit'
        if (isCareful) await diary.before(candidate)
        const part = partFor(candidate)
        const result = await carrier.submit(part)
        // Nothing was sent: that says nothing of the carrier.
        const isOurs = result.outcome === 'retry' && result.status === 0
        if (!isOurs) health.note(connection, result.outcome === 'accepted' || result.outcome === 'refused')
        if (result.outcome === 'accepted') {
          carriers.unwritten.add(connection, part.message, part.part, result.carrierId)
          return { outcome: 'accepted', connection, carrierId: result.carrierId }
        }
        if (isCareful && result.outcome !== 'unknown') await diary.untaken(candidate)
        if (result.outcome === 'unknown') {
          await diary.after(candidate, result)
          if (isCareful) return { outcome: 'doubtful', candidate }
          // At once and at least once: over another connection if this one is gone.
          if (++submits > patience) throw new Later(result.reason, latest)
          continue
        }
        if (isOurs) {
          carriers.passRoom(connection)
          // A sender that has had its share waits in the queue: its texts must not hold the places of others.
          if (result.seconds > mostPause || ++own > patience) throw new Later(result.reason, result.seconds)
          await pause(result.seconds * 1_000, undefined, { signal }).catch(() => stop())
          continue
        }
        const others = left.filter((other) => other !== candidate)
        if (result.outcome === 'refused') {
          await diary.after(candidate, result)
          if (others.length === 0) return { outcome: 'refused', reason: result.reason }
          left = others
          tries = 0
          continue
        }
        tries++
        // The first of a run: operators see why a message waits while it waits.
        if (tries === 1) await diary.after(candidate, result)
        const canMove = others.some((other) => carriers.bound(other.connection))
        if (tries >= patience && canMove) {
          left = others
          tries = 0
        } else if (tries > 2 * patience) throw new Later(result.reason, latest)
        else await pause(Math.max(restOf(tries), result.seconds * 1_000), undefined, { signal }).catch(() => stop())
      }
    },
  }
}

const stop = (): never => {
  throw new Later('the worker stops', 0)
}

/** How a part is tied to the others over a connection, given how the text was cut: parts cut for the short header have no
 *  room for the longer one, and one of several cannot go as a whole text. */
export const tieOf = (cut: 'udh8' | 'udh16', { long }: Candidate): LongMode =>
  long === 'payload' || (cut === 'udh8' && long !== 'udh8') ? 'udh8' : long
