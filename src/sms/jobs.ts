import { setTimeout as pause } from 'node:timers/promises'
import type { SmsPart } from '../connectors/port.ts'
import type { Db, Tx } from '../db/sql.ts'
import { GiveUp, type Job, type Kind, Later, Retry } from '../jobs/kind.ts'
import type { Schedule } from '../jobs/schedule.ts'
import { refund } from '../ledger/ops.ts'
import { print } from '../lib/id.ts'
import { micros } from '../lib/money.ts'
import { segment } from '../lib/segments.ts'
import { type Carriers, submitKind } from './carriers.ts'
import { applyReceipt, type CarrierReceipt } from './receipts.ts'
import * as states from './states.ts'
import * as waiting from './waiting.ts'

type Submission = { from: string; to: string; text: string }

type Outcome = { outcome: 'sent'; connection: string; carrierIds: string[] } | { outcome: 'failed'; code: string }

const accountOf = ({ id, account }: Job): string => {
  if (account === null) throw new Error(`job ${id} has no account`)
  return account
}

/** References of long messages (3GPP TS 23.040, 9.2.3.24.1), counted by destination, so that no two that a handset gets
 *  within minutes share one. */
const makeReferences = () => {
  const next = new Map<string, number>()
  return (destination: string): number => {
    const reference = ((next.get(destination) ?? Math.floor(Math.random() * 256)) + 1) & 0xff
    if (next.size > 100_000) next.clear()
    next.set(destination, reference)
    return reference
  }
}

/** Carries accepted messages to their carriers. At least once: a submit whose answer was lost is made again. */
export const submitJob = (carriers: Carriers): Kind<Submission, Outcome> => {
  const referenceFor = makeReferences()

  const run = async ({ id, payload: { from, to, text } }: Job<Submission>, signal: AbortSignal): Promise<Outcome> => {
    const route = carriers.route(to)
    if (route === 'none') return { outcome: 'failed', code: 'no_route' }
    if (!route) throw new Later('no carrier for it is bound', 1)
    const { encoding, parts } = segment(text, route.settings.long)
    const reference = parts.length > 1 ? referenceFor(to) : 0
    const carrierIds: string[] = []
    for (const [i, part] of parts.entries()) {
      const submission: SmsPart = {
        message: id,
        part: i + 1,
        parts: parts.length,
        source: from,
        destination: to,
        text: part,
        encoding,
        reference,
      }
      let result = await route.carrier.submit(submission)
      // The parts before it are at the carrier already: this one waits for room, and they are not sent again.
      while (result.outcome === 'retry' && i > 0 && !signal.aborted && route.carrier.state().state === 'bound') {
        await pause(100)
        result = await route.carrier.submit(submission)
      }
      if (result.outcome === 'accepted') carrierIds.push(result.carrierId)
      else if (result.outcome === 'refused') return { outcome: 'failed', code: result.reason }
      else if (result.outcome === 'retry') throw new Later(result.reason, 0.5 + Math.random())
      else throw new Retry(result.reason, 0)
    }
    return { outcome: 'sent', connection: route.id, carrierIds }
  }

  const fail = async (tx: Tx, messages: states.Failed[]) => {
    // In the order in which acceptance locks balances too.
    const failed = (await states.fail(tx, messages)).sort((a, b) => (a.account_id < b.account_id ? -1 : 1))
    for (const row of failed) {
      const reference = print('SMO', row.id)
      await refund(tx, row.account_id, micros(row.price) ?? 0, 'sms', { kind: 'sms_refund', reference })
    }
  }

  return {
    kind: submitKind,
    concurrency: 512,
    leaseSeconds: 30,
    maxAttempts: 50,
    fair: true,
    room: carriers.room,
    run,
    settle: async (tx, done) => {
      const sent: states.Sent[] = []
      const failed: states.Failed[] = []
      for (const { job, result } of done) {
        if (result.outcome === 'failed') failed.push({ account: accountOf(job), id: job.id, code: result.code })
        else
          for (const [i, carrierId] of result.carrierIds.entries())
            sent.push({
              account: job.account ?? '',
              message: job.id,
              part: i + 1,
              connection: result.connection,
              carrierId,
            })
      }
      if (sent.length > 0) await states.sent(tx, sent)
      if (failed.length > 0) await fail(tx, failed)
    },
    failed: (tx, job) => fail(tx, [{ account: accountOf(job), id: job.id, code: 'carrier_unreachable' }]),
  }
}

/** Receipts that came before the answer to their submit was written down. */
export const receiptJob = (db: Db): Kind<CarrierReceipt, void> => ({
  kind: 'sms.receipt',
  concurrency: 16,
  leaseSeconds: 30,
  maxAttempts: 6,
  run: async ({ payload, attempt }) => {
    if (await applyReceipt(db, payload)) return
    if (attempt === 6) throw new GiveUp('no part has this id')
    throw new Retry('no part has this id yet', 2 ** attempt)
  },
})

/** Parts of inbound texts whose others never came. */
export const forgetParts: Schedule = {
  name: 'forget-inbound-parts',
  every: 3600,
  run: async (tx) => void (await waiting.forget(tx)),
}
