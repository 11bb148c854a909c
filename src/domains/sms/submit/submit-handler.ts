import { segment } from '@trunkline/phone/segments.ts'
import { Discard, type Job, Retry, Snooze } from '../../../platform/jobs/job-kind.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { PartCallback, SmsPart, SubmitResult } from '../../../ports/sms.ts'
import { asOnePart, type MessagePlan, parseSegmentation, type Segmentation } from '../accept/quote.ts'
import { linkResponseSeconds, receiptHoldSeconds } from '../limits.ts'
import type { TokenPart } from '../part-tokens.ts'
import { type Candidate, drawOrder, supportsShift } from '../route/route-table.ts'
import type { Router } from '../route/router.ts'
import type { FailoverSubmitter, PartOutcome, SubmitLog } from './failover-submitter.ts'
import { submitKind } from './message-slots.ts'
import type { PairSequencer } from './pair-sequencer.ts'
import type { StartedMessage } from './parts-store.ts'
import type { SubmitProgress } from './submit-progress.ts'

/** Payload of a submit job. `long`, `send_at` and `sending` are present only if they differ from the defaults. */
export type Submission = {
  from: string
  to: string
  text: string
  long?: Segmentation
  send_at?: string | null
  /** Validity that the sender asked for, if it is shorter than that of the connection. */
  valid_seconds?: number
  /** The sending that the message belongs to: it may be paused or canceled. */
  sending?: string
  /** Files of the message (MMS), in order. */
  media?: readonly string[]
  /** Connections that refused the message, or were too busy, before another process passed it on. */
  tried?: readonly string[]
}

/** Job of a message. `plan` is absent if the job was read from the database. */
export type SubmitJob = Job<Submission> & {
  readonly plan?: MessagePlan
  /** Passes the message on to the process that runs the jobs of a kind, to be sent over none of the connections in
   *  `tried`; resolves after the commit. */
  passOn(kind: string, tried: readonly string[]): Promise<void>
}

/** A part that a carrier accepted and that is not stored yet. */
export type AcceptedPart = { part: number; connection: string; carrierId: string }

export type SubmitOutcome =
  /** `mayBeStored`: an earlier attempt may have stored parts of the message. */
  | { readonly outcome: 'sent'; readonly taken: readonly AcceptedPart[]; readonly mayBeStored: boolean }
  | { readonly outcome: 'failed' | 'expired' | 'unknown'; readonly code: string }
  /** The sending of the message was canceled before any submit of the message. */
  | { readonly outcome: 'canceled' }
  /** The message must not be sent any more. */
  | { readonly outcome: 'gone' }
  /** Another process submits the message. */
  | { readonly outcome: 'passed' }

/** Default validity of a message: 48 hours, as carriers use. */
export const defaultValidSeconds = 172_800

/** End of the validity of a message, Unix milliseconds of the platform's clock. */
export const validUntil = (
  { send_at, valid_seconds: own = Number.POSITIVE_INFINITY }: Submission,
  accepted: Date,
  first: Candidate | undefined,
): number =>
  (send_at ? Date.parse(send_at) : accepted.getTime()) +
  Math.min(own, first?.validSeconds ?? defaultValidSeconds) * 1_000

type KnownPart = StartedMessage['pieces'][number]
const isAccepted = ({ status }: KnownPart) => status !== 'sending' && status !== 'doubtful'

/** A message that was passed on goes over the connection that it was passed on for, if that is up. */
const preferOwn = (candidates: readonly Candidate[], kind: string): readonly Candidate[] => {
  if (kind === submitKind) return candidates
  const isOwn = ({ connection }: Candidate) => kind.startsWith(`${submitKind}:${connection}:`)
  return [...candidates.filter(isOwn), ...candidates.filter((candidate) => !isOwn(candidate))]
}

/** The reason of a failed submit as operators see it: the code, with the carrier's words. */
const attemptReasonOf = (result: Exclude<SubmitResult, { outcome: 'accepted' }>): string => {
  if (result.outcome === 'unknown') return result.detail
  return result.outcome === 'refused' && result.detail ? `${result.reason}: ${result.detail}` : result.reason
}

export type SubmitDeps = {
  routing: Router
  submitter: FailoverSubmitter
  sequencer: PairSequencer
  progress: SubmitProgress
  clock: Clock
  sandboxAccounts: { has(account: string): boolean }
  /** Returns the callback of a part at a connection. */
  callbackOf(connection: string, part: TokenPart): PartCallback
  /** Returns a temporary link to a file of an account. */
  linkOf(account: string, media: string): string
}

/** Makes the job handler that submits one accepted message to carriers, part after part. */
export const makeSubmitHandler = (deps: SubmitDeps) => {
  const { routing, submitter, sequencer, progress, clock, sandboxAccounts, callbackOf, linkOf } = deps

  /**
   * Returns the plan of a message. The plan of its acceptance is used as it is, unless a connection changed meanwhile:
   * the message then takes a current route. A job from the database may be old, so it is routed now. Its text is
   * segmented as it was counted and charged.
   */
  const planOf = ({ payload, plan }: SubmitJob, account: string): MessagePlan => {
    if (plan && routing.isCurrent(plan.decision)) return plan
    const decision = routing.decide(payload.to, sandboxAccounts.has(account))
    if (plan) return { ...plan, decision }
    const { header, shift } = parseSegmentation(payload.long ?? 'udh8')
    const segments = segment(payload.text, header, shift)
    return { decision, header, segments: payload.media ? asOnePart(segments, payload.text) : segments }
  }

  const submitMessage = async (job: SubmitJob, account: string, signal: AbortSignal): Promise<SubmitOutcome> => {
    const { id, payload } = job
    const { from: source, to: destination, text, media } = payload
    const { decision, header, segments: asPlanned } = planOf(job, account)
    const all = drawOrder(media ? decision.candidates.filter(({ mms }) => mms) : decision.candidates)
    const { shift: tables } = asPlanned
    const able = tables === null ? all : all.filter((one) => supportsShift(one, tables))
    const usable = able.length > 0 ? able : all
    const remaining = usable.filter(({ connection }) => !payload.tried?.includes(connection))
    const candidates = remaining.length > 0 ? remaining : usable
    const [first] = candidates
    if (!first) return { outcome: 'failed', code: 'no_route' }

    const left = Math.floor((validUntil(payload, job.createdAt, first) - clock.now()) / 1_000)
    if (left <= 0) return { outcome: 'expired', code: 'validity' }
    if (payload.send_at && (await progress.isOptedOut({ account, number: source, contact: destination })))
      return { outcome: 'failed', code: 'opted_out' }

    // No current carrier supports the shift tables: send without them, at the price charged on acceptance.
    const asPlain = able.length > 0 ? asPlanned : segment(text, header)
    const isLong = asPlain.parts.length > 1
    const isCareful = candidates.some(({ policy }) => policy !== 'resubmit')
    const begun =
      isLong || isCareful ? await progress.start({ account, id, number: source, contact: destination, isLong }) : null
    if (begun === 'gone') return { outcome: 'gone' }
    const known = new Map(begun?.pieces.map((piece) => [piece.part, piece]))
    const isBegun = [...known.values()].some((piece) => piece.parts === asPlanned.parts.length)
    const { encoding, parts, shift } = isBegun ? asPlanned : asPlain

    /** Returns what remains to do for a part after an earlier attempt: nothing (null), give up, or the candidates to
     *  try. Throws Snooze to wait. */
    const resume = async (part: number): Promise<readonly Candidate[] | 'unknown' | null> => {
      const piece = known.get(part)
      if (!piece) return candidates
      if (isAccepted(piece)) return null
      const policy = candidates.find(({ connection }) => connection === piece.connection)?.policy ?? 'resubmit'
      if (policy === 'resubmit') return candidates
      await progress.markDoubtful({ account, message: id, part })
      if (policy === 'at_most_once') return 'unknown'
      if (piece.seconds < receiptHoldSeconds)
        throw new Snooze('the message waits for a receipt', Math.max(0.1, receiptHoldSeconds - piece.seconds))
      return candidates
    }

    const taken: AcceptedPart[] = []
    let isWhole = [...known.values()].some((piece) => piece.parts === 1)

    for (let i = 0; i < parts.length && !(isWhole && i > 0); i++) {
      const part = i + 1
      const open = await resume(part)
      if (open === 'unknown') return { outcome: 'unknown', code: 'outcome_unknown' }
      if (open === null) continue
      const partFor = (candidate: Candidate): SmsPart => {
        // A carrier that splits messages itself gets the whole text, unless a part was already submitted separately.
        isWhole = isLong && candidate.texts === 'whole' && known.size === 0 && taken.length === 0
        return {
          message: id,
          part,
          parts: isWhole ? 1 : parts.length,
          source,
          destination,
          text: isWhole ? text : (parts[i] ?? ''),
          encoding,
          ...(shift === null ? {} : { shift }),
          reference: begun?.reference ?? 0,
          header,
          ...(candidate.validSeconds === null ? {} : { validSeconds: left }),
          ...(media ? { media: media.map((id) => linkOf(account, id)) } : {}),
          ...(candidate.callbacks
            ? { callback: callbackOf(candidate.connection, { account, message: id, part }) }
            : {}),
        }
      }
      const delivery = await submitter.submit(
        preferOwn(open, job.kind),
        { pair: source + destination, wasPassed: job.kind !== submitKind },
        partFor,
        submitLogFor(account, id, { part, parts: parts.length, isKnown: known.has(part) }),
        signal,
      )
      if (delivery.outcome === 'elsewhere') {
        await job.passOn(delivery.kind, [...(payload.tried ?? []), ...delivery.tried])
        return { outcome: 'passed' }
      }
      if (delivery.outcome === 'refused') return { outcome: 'failed', code: delivery.reason }
      if (delivery.outcome === 'doubtful') return await doubtful(account, id, part, delivery)
      const { connection, carrierId } = delivery
      taken.push({ part, connection, carrierId })
      // Parts of a long message are stored one by one, so that none is submitted again.
      if (isLong)
        await progress.recordPart({
          account,
          message: id,
          part,
          parts: isWhole ? 1 : parts.length,
          connection,
          carrierId,
        })
    }
    return { outcome: 'sent', taken: isLong ? [] : taken, mayBeStored: begun !== null }
  }

  /** @param isKnown whether an earlier attempt recorded the part */
  const submitLogFor = (
    account: string,
    message: string,
    { part, parts, isKnown }: { part: number; parts: number; isKnown: boolean },
  ): SubmitLog => ({
    beforeSubmit: async ({ connection }) => {
      const piece = { account, message, part, parts, connection, carrierId: null }
      if (isKnown) await progress.recordPart(piece)
      else if (!(await progress.reservePart(piece)))
        throw new Snooze('another process submits the message', linkResponseSeconds)
    },
    notAccepted: () => progress.deletePart({ account, message, part }),
    afterFailure: ({ connection }, result) => {
      const { outcome } = result
      const reason = attemptReasonOf(result)
      return progress.recordAttempt({ account, message, id: uuid(), part, connection, outcome, reason })
    },
  })

  const doubtful = async (
    account: string,
    message: string,
    part: number,
    { candidate }: Extract<PartOutcome, { outcome: 'doubtful' }>,
  ): Promise<SubmitOutcome> => {
    await progress.markDoubtful({ account, message, part })
    if (candidate.policy === 'at_most_once') return { outcome: 'unknown', code: 'outcome_unknown' }
    throw new Snooze('the message waits for a receipt', receiptHoldSeconds)
  }

  return async (job: SubmitJob, signal: AbortSignal): Promise<SubmitOutcome> => {
    const { id, account, payload } = job
    if (account === null) throw new Discard('the job has no account')
    const place = await sequencer.enter(payload.from + payload.to, id)
    if (place.waitSeconds > 0) throw new Snooze('an earlier message of the pair waits', place.waitSeconds)
    try {
      const outcome = await submitMessage(job, account, signal)
      place.complete()
      return outcome
    } catch (error) {
      place.defer(error instanceof Snooze || error instanceof Retry ? error.seconds : 1)
      throw error
    }
  }
}
