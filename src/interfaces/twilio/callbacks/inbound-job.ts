import { e164 } from '@trunkline/phone/phone.ts'
import { findMessage, type MessageRow, sendMessage } from '../../../domains/sms/ops.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { Problem } from '../../../platform/http/problem.ts'
import { Discard, type Job, type JobKind, Retry } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import { callbackConcurrency, maxBodyLength, maxUrlLength } from '../limits.ts'
import * as store from '../store.ts'
import type { Reply } from '../twiml/message-verbs.ts'
import { accessOf } from './account-access.ts'
import { runProgram } from './message-program.ts'
import { inboundParameters } from './parameters.ts'
import { type Program, ProgramError } from './program-request.ts'

/** Jobs that post an inbound message to the program of its number. A trigger of the database adds them. */
export const inboundKind = 'twilio.inbound'

type InboundPayload = { readonly message: string }

type InboundResult = { readonly replies: readonly Reply[]; readonly row: MessageRow | null; readonly a2pUs: boolean }

const nothing: InboundResult = { replies: [], row: null, a2pUs: false }

/** The program of a number, then its fallback. */
const programsOf = (addresses: store.NumberAddresses): Program[] => {
  const { sms_url, sms_method, sms_fallback_url, sms_fallback_method } = addresses
  const first = { url: sms_url, method: sms_method }
  return sms_fallback_url === '' ? [first] : [first, { url: sms_fallback_url, method: sms_fallback_method }]
}

/** Returns the answer to an inbound message. A program that fails is logged, and the fallback learns its fault. */
const answerTo = async (
  services: Services,
  { id, account, payload }: Job<InboundPayload>,
  signal: AbortSignal,
): Promise<InboundResult> => {
  const { db, log } = services
  if (account === null) throw new Discard('it has no account')
  const access = await accessOf(services, account, signal)
  const row = access && (await findMessage(db, account, payload.message))
  const addresses = row && (await store.addressesOfNumber(db, account, row.number))
  if (!access || !row || !addresses) return nothing
  let parameters = inboundParameters(account, row)
  for (const program of programsOf(addresses)) {
    try {
      return { replies: await runProgram(access.deps, program, parameters, id), row, a2pUs: access.a2pUs }
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error
      if (signal.aborted) throw new Retry('the worker is stopping', 1)
      const { url, code, message: reason } = error
      log.warn({ account, message: row.id, url, code, reason }, 'twilio: inbound program failed')
      parameters = { ...parameters, ErrorCode: String(code), ErrorUrl: url }
    }
  }
  return nothing
}

/** Sends one reply in the transaction that ends the job. A refusal leaves the others. */
const sendReply = async (
  services: Services,
  tx: Tx,
  account: string,
  { row, a2pUs }: InboundResult,
  reply: Reply,
): Promise<void> => {
  if (row === null) return
  const refused = (reason: string) => services.log.warn({ account, message: row.id, reason }, 'twilio: reply refused')
  const to = reply.to === null ? row.contact : e164(reply.to)
  const from = reply.from === null ? row.number : e164(reply.from)
  if (to === null || from === null) return refused('a number of the reply is not E.164')
  if (reply.media.length > 0) return refused('media are not supported')
  if (reply.text === '') return refused('the reply has no text')
  // A page of a server's fault would be charged as hundreds of segments.
  if (reply.text.length > maxBodyLength) return refused(`the reply has more than ${maxBodyLength} characters`)
  if ((reply.callbackUrl ?? '').length > maxUrlLength) return refused('statusCallback is too long')
  try {
    const outgoing = { to, from, text: reply.text, sendAt: null, callbackUrl: reply.callbackUrl }
    await sendMessage(services, tx, { id: account, a2pUs }, outgoing)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    refused(error.message)
  }
}

/** Posts inbound messages to programs, and sends what they answer. */
export const inboundJob = (services: Services): JobKind<InboundPayload, InboundResult> => ({
  kind: inboundKind,
  concurrency: callbackConcurrency,
  batch: callbackConcurrency,
  leaseSeconds: 60,
  maxAttempts: 5,
  fair: true,
  run: (job, signal) => answerTo(services, job, signal),
  onComplete: async (tx, done) => {
    // Accounts are locked in one order (docs/locks.md).
    const ordered = done.toSorted((a, b) => ((a.job.account ?? '') < (b.job.account ?? '') ? -1 : 1))
    for (const { job, result } of ordered)
      for (const reply of result.replies)
        if (job.account !== null) await sendReply(services, tx, job.account, result, reply)
  },
})
