import { setTimeout as pause } from 'node:timers/promises'
import { Snooze } from '../../../platform/jobs/job-kind.ts'
import type { SmsCarrier, SmsPart, SubmitResult, UnsentReason } from '../../../ports/sms.ts'
import {
  maxCapacityWaitMs,
  maxCongestionTries,
  maxDownRetrySeconds,
  maxSenderPauseSeconds,
  maxWaitingPerConnection,
  minDownRetrySeconds,
} from '../limits.ts'
import type { Candidate } from '../route/route-table.ts'
import type { Carriers } from './carriers.ts'
import type { ConnectionHealth } from './connection-health.ts'

/** Outcome of one part. `doubtful`: the carrier may or may not have accepted it. `elsewhere`: the process that runs the jobs
 *  of a kind submits it, over none of the connections in `tried`. */
export type PartOutcome =
  | { readonly outcome: 'elsewhere'; readonly kind: string; readonly tried: readonly string[] }
  | { readonly outcome: 'accepted'; readonly connection: string; readonly carrierId: string }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'doubtful'; readonly candidate: Candidate }

/** Log of each submit, written before and after. */
export type SubmitLog = {
  /** Called before a submit that must not be repeated. */
  beforeSubmit(candidate: Candidate): Promise<void>
  /** Called after such a submit if the carrier certainly did not accept the part. */
  notAccepted(candidate: Candidate): Promise<void>
  afterFailure(candidate: Candidate, result: Exclude<SubmitResult, { outcome: 'accepted' }>): Promise<void>
}

type ConnectedCandidate = { readonly candidate: Candidate; readonly carrier: SmsCarrier }

const unsentTexts: Record<UnsentReason, string> = {
  link_down: 'the link is down',
  no_capacity: 'the window is full',
  sender_rate_limit: 'the sender has reached its rate limit',
}

/** Pause after congestion without a stated duration: 0.2, 0.4 … 5 s. */
const congestionPauseMs = (tries: number) => Math.min(5_000, 100 * 2 ** tries)

export type FailoverSubmitter = {
  /**
   * Submits one part to the first carrier that accepts it: candidates in order, unhealthy ones last.
   * @param pair sender and recipient, which select the slot of a connection
   * @param wasPassed whether another process passed the message on to this one
   * @throws Snooze if no candidate is connected, or capacity did not return in time
   */
  submit(
    candidates: readonly Candidate[],
    { pair, wasPassed }: { readonly pair: string; readonly wasPassed: boolean },
    partFor: (candidate: Candidate) => SmsPart,
    diary: SubmitLog,
    signal: AbortSignal,
  ): Promise<PartOutcome>
}

type UsedCarriers = Pick<
  Carriers,
  'availableWindowOf' | 'leases' | 'passAvailability' | 'pendingCommits' | 'reserve' | 'state' | 'up' | 'whenAvailable'
>

export const makeFailoverSubmitter = (carriers: UsedCarriers, health: ConnectionHealth): FailoverSubmitter => {
  const waiting = new Map<string, number>()

  const downSeconds = (candidates: readonly Candidate[]): number => {
    const since = Math.max(...candidates.map(({ connection }) => carriers.state(connection)?.since ?? 0))
    const seconds = (Date.now() - since) / 4_000
    return Math.max(minDownRetrySeconds, Math.min(maxDownRetrySeconds, seconds))
  }

  const { leases } = carriers

  /** Returns the first healthy connected candidate, or else the first connected one; the kind of its jobs if another
   *  process is connected to it. */
  const best = (
    candidates: readonly Candidate[],
    pair: string,
    wasPassed: boolean,
  ): ConnectedCandidate | { kind: string } => {
    let second: ConnectedCandidate | null = null
    for (const candidate of candidates) {
      const place = leases.placeOf(candidate.connection, pair)
      // A message that was passed here for a connection that fails now is not passed back.
      if (place === 'nowhere' || (place !== 'here' && second && wasPassed)) continue
      if (place !== 'here') return place
      const carrier = carriers.up(candidate.connection)
      if (!carrier) continue
      if (health.isHealthy(candidate.connection)) return { candidate, carrier }
      second ??= { candidate, carrier }
    }
    if (second) return second
    throw new Snooze('no carrier for this message is connected', downSeconds(candidates))
  }

  const awaitCapacity = async ({ connection }: Candidate, signal: AbortSignal): Promise<void> => {
    const others = waiting.get(connection) ?? 0
    if (others >= maxWaitingPerConnection) throw new Snooze('the carrier has no capacity', 0.5)
    waiting.set(connection, others + 1)
    const found = await carriers.whenAvailable(connection, maxCapacityWaitMs, signal)
    waiting.set(connection, (waiting.get(connection) ?? 1) - 1)
    if (!found) throw new Snooze(signal.aborted ? 'the worker is stopping' : 'the carrier has no capacity', 0)
  }

  const submitOver = async (
    { candidate, carrier }: ConnectedCandidate,
    part: SmsPart,
    diary: SubmitLog | null,
  ): Promise<SubmitResult> => {
    if (diary) {
      const release = carriers.reserve(candidate.connection)
      try {
        await diary.beforeSubmit(candidate)
      } catch (error) {
        release()
        carriers.passAvailability(candidate.connection)
        throw error
      }
      release()
    }
    return await carrier.submit(part)
  }

  return {
    submit: async (candidates, { pair, wasPassed }, partFor, diary, signal) => {
      let left = [...candidates]
      let tries = 0
      let submits = 0
      /** Submits held back by our own window, rate limit or link: no sign of congestion. */
      let own = 0
      for (;;) {
        // The lease is lost or the worker is stopping: another worker continues.
        if (signal.aborted) throwStopping()
        const found = best(left, pair, wasPassed)
        if ('kind' in found) {
          const tried = candidates.filter((one) => !left.includes(one))
          return { outcome: 'elsewhere', kind: found.kind, tried: tried.map(({ connection }) => connection) }
        }
        const { candidate, carrier } = found
        const { connection, policy } = candidate
        // Checked without a turn of the event loop until the part takes the capacity: no two parts see the same.
        if (carriers.availableWindowOf(connection) <= 0) await awaitCapacity(candidate, signal)
        if (carriers.up(connection) !== carrier) continue // the link was lost during the wait
        const leave = leases.enter(connection, pair)
        if (!leave) continue // and so was the lease of the slot
        const isCareful = policy !== 'resubmit'
        const part = partFor(candidate)
        const result = await submitOver(found, part, isCareful ? diary : null).finally(leave)
        const isOurs = result.outcome === 'retry' && !result.wasSent
        if (!isOurs) health.record(connection, result.outcome === 'accepted' || result.outcome === 'refused')
        if (result.outcome === 'accepted') {
          carriers.pendingCommits.add(connection, part.message, part.part, result.carrierId)
          return { outcome: 'accepted', connection, carrierId: result.carrierId }
        }
        if (isCareful && result.outcome !== 'unknown') await diary.notAccepted(candidate)
        if (result.outcome === 'unknown') {
          await diary.afterFailure(candidate, result)
          if (isCareful) return { outcome: 'doubtful', candidate }
          // Resubmit at once (at least once), over another connection if this one is gone.
          if (++submits > maxCongestionTries) throw new Snooze(result.detail, maxDownRetrySeconds)
          continue
        }
        if (isOurs) {
          carriers.passAvailability(connection)
          // A rate-limited sender waits in the queue: its messages must not occupy slots of others.
          if (result.seconds > maxSenderPauseSeconds || ++own > maxCongestionTries)
            throw new Snooze(unsentTexts[result.reason], result.seconds)
          await pause(result.seconds * 1_000, undefined, { signal }).catch(() => throwStopping())
          continue
        }
        const others = left.filter((other) => other !== candidate)
        if (result.outcome === 'refused') {
          await diary.afterFailure(candidate, result)
          if (others.length === 0) return { outcome: 'refused', reason: result.reason }
          left = others
          tries = 0
          continue
        }
        tries++
        // Log the first of a series, so that operators see why a message waits.
        if (tries === 1) await diary.afterFailure(candidate, result)
        const canMove = others.some(
          (other) => carriers.up(other.connection) ?? leases.isUpElsewhere(other.connection, pair),
        )
        if (tries >= maxCongestionTries && canMove) {
          left = others
          tries = 0
        } else if (tries > 2 * maxCongestionTries) throw new Snooze(result.reason, maxDownRetrySeconds)
        else
          await pause(Math.max(congestionPauseMs(tries), result.seconds * 1_000), undefined, { signal }).catch(() =>
            throwStopping(),
          )
      }
    },
  }
}

const throwStopping = (): never => {
  throw new Snooze('the worker is stopping', 0)
}
