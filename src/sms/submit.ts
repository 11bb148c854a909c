import type { SmsPart } from '../connectors/port.ts'
import { GiveUp, type Job, Later, Retry } from '../jobs/kind.ts'
import type { Clock } from '../lib/clock.ts'
import { uuid } from '../lib/id.ts'
import { segment } from '../lib/segments.ts'
import { type Courier, type Delivery, type Diary, tieOf } from './courier.ts'
import type { Order } from './order.ts'
import type { Begun } from './pieces.ts'
import { type Candidate, inOrder } from './route.ts'
import type { Routing } from './routing.ts'
import type { Steps } from './steps.ts'

/** A job's payload. `long` and `send_at` only where they are not the usual. */
export type Submission = { from: string; to: string; text: string; long?: 'udh16' | 'udh8'; send_at?: string | null }

/** A part that a carrier took and that is not written down yet. */
export type Taken = { part: number; connection: string; carrierId: string }

export type Outcome =
  | { readonly outcome: 'sent'; readonly taken: readonly Taken[] }
  | { readonly outcome: 'failed' | 'expired' | 'unknown'; readonly code: string }
  /** It is not to be sent any more. */
  | { readonly outcome: 'gone' }

/** How long we try when no connection says otherwise: 48 hours, as carriers do. */
export const defaultValidSeconds = 172_800

/** Until when a text may be tried, Unix milliseconds by the platform's clock. */
export const validUntil = ({ send_at }: Submission, accepted: Date, first: Candidate | undefined): number =>
  (send_at ? Date.parse(send_at) : accepted.getTime()) + (first?.validSeconds ?? defaultValidSeconds) * 1_000

/** How long a part whose fate is unknown waits for a receipt on a route that holds. */
const holdSeconds = 60

type Piece = Begun['pieces'][number]
const isTaken = ({ status }: Piece) => status !== 'sending' && status !== 'doubtful'

export type SubmitParts = {
  routing: Routing
  courier: Courier
  order: Order
  steps: Steps
  clock: Clock
  sandboxAccounts: { has(account: string): boolean }
}

/** Makes the handler that carries one accepted text to its carriers, part after part. */
export const makeSubmit = ({ routing, courier, order, steps, clock, sandboxAccounts }: SubmitParts) => {
  const carry = async (job: Job<Submission>, account: string, signal: AbortSignal): Promise<Outcome> => {
    const { id, payload } = job
    const { from: source, to: destination, text, long: cut = 'udh8' } = payload
    const candidates = inOrder(routing.decide(destination, sandboxAccounts.has(account)).candidates)
    const [first] = candidates
    if (!first) return { outcome: 'failed', code: 'no_route' }

    const left = Math.floor((validUntil(payload, job.createdAt, first) - clock.now()) / 1_000)
    if (left <= 0) return { outcome: 'expired', code: 'validity' }
    if (payload.send_at && (await steps.isOptedOut({ account, number: source, contact: destination })))
      return { outcome: 'failed', code: 'opted_out' }

    const { encoding, parts } = segment(text, cut)
    const isLong = parts.length > 1
    const isCareful = candidates.some(({ policy }) => policy !== 'resubmit')
    const begun =
      isLong || isCareful ? await steps.begin({ account, id, number: source, contact: destination, isLong }) : null
    if (begun === 'gone') return { outcome: 'gone' }
    const known = new Map(begun?.pieces.map((piece) => [piece.part, piece]))

    /** What an earlier try leaves to do for a part: nothing (null), to wait, to give up, or the candidates to try. */
    const resume = async (part: number): Promise<readonly Candidate[] | 'unknown' | null> => {
      const piece = known.get(part)
      if (!piece) return candidates
      if (isTaken(piece)) return null
      const policy = candidates.find(({ connection }) => connection === piece.connection)?.policy ?? 'resubmit'
      if (policy === 'resubmit') return candidates
      await steps.doubt({ account, message: id, part })
      if (policy === 'at_most_once') return 'unknown'
      if (piece.seconds < holdSeconds)
        throw new Later('it waits for a receipt', Math.max(0.1, holdSeconds - piece.seconds))
      return candidates
    }

    const taken: Taken[] = []
    let isWhole = [...known.values()].some((piece) => piece.parts === 1)

    for (let i = 0; i < parts.length && !(isWhole && i > 0); i++) {
      const part = i + 1
      const open = await resume(part)
      if (open === 'unknown') return { outcome: 'unknown', code: 'outcome_unknown' }
      if (open === null) continue
      const partFor = (candidate: Candidate): SmsPart => {
        // A carrier that splits texts itself gets it whole, as long as no part of it has gone another way.
        isWhole = isLong && candidate.long === 'payload' && known.size === 0 && taken.length === 0
        return {
          message: id,
          part,
          parts: isWhole ? 1 : parts.length,
          source,
          destination,
          text: isWhole ? text : (parts[i] ?? ''),
          encoding,
          reference: begun?.reference ?? 0,
          long: isWhole || !isLong ? candidate.long : tieOf(cut, candidate),
          ...(candidate.validSeconds === null ? {} : { validSeconds: left }),
        }
      }
      const delivery = await courier.carry(open, partFor, diaryOf(account, id, part, parts.length), signal)
      if (delivery.outcome === 'refused') return { outcome: 'failed', code: delivery.reason }
      if (delivery.outcome === 'doubtful') return await doubtful(account, id, part, delivery)
      const { connection, carrierId } = delivery
      taken.push({ part, connection, carrierId })
      // A long text's parts are written down one by one, so that none of them is submitted again.
      if (isLong)
        await steps.put({ account, message: id, part, parts: isWhole ? 1 : parts.length, connection, carrierId })
    }
    return { outcome: 'sent', taken: isLong ? [] : taken }
  }

  const diaryOf = (account: string, message: string, part: number, parts: number): Diary => ({
    before: ({ connection }) => steps.put({ account, message, part, parts, connection, carrierId: null }),
    untaken: () => steps.withdraw({ account, message, part }),
    after: ({ connection }, { outcome, reason }) =>
      steps.attempt({ account, message, id: uuid(), part, connection, outcome, reason }),
  })

  const doubtful = async (
    account: string,
    message: string,
    part: number,
    { candidate }: Extract<Delivery, { outcome: 'doubtful' }>,
  ): Promise<Outcome> => {
    await steps.doubt({ account, message, part })
    if (candidate.policy === 'at_most_once') return { outcome: 'unknown', code: 'outcome_unknown' }
    throw new Later('it waits for a receipt', holdSeconds)
  }

  return async (job: Job<Submission>, signal: AbortSignal): Promise<Outcome> => {
    const { id, account, payload } = job
    if (account === null) throw new GiveUp('no account')
    const place = await order.enter(payload.from + payload.to, id)
    if (place.wait > 0) throw new Later('one before it waits', place.wait)
    try {
      const outcome = await carry(job, account, signal)
      place.done()
      return outcome
    } catch (error) {
      place.back(error instanceof Later || error instanceof Retry ? error.seconds : 1)
      throw error
    }
  }
}
