import { e164 } from '@trunkline/phone/phone.ts'
import {
  type FetchedFiles,
  fetchFiles,
  filesOf,
  findMessage,
  type MessageRow,
  sendMessage,
} from '../../../domains/sms/ops.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { Problem } from '../../../platform/http/problem.ts'
import { Discard, type Job, type JobKind, Retry } from '../../../platform/jobs/job-kind.ts'
import { makeRequestShare, type RequestShare } from '../../../platform/jobs/request-share.ts'
import type { Services } from '../../../services.ts'
import { maxBodyLength, maxUrlLength } from '../limits.ts'
import * as store from '../store.ts'
import type { Reply } from '../twiml/message-verbs.ts'
import { accessOf } from './account-access.ts'
import { runProgram } from './message-program.ts'
import { inboundParameters } from './parameters.ts'
import { type Program, RequestError } from './program-request.ts'

/** Jobs that post an inbound message to the program of its number. A trigger of the database adds them. */
export const inboundKind = 'twilio.inbound'

type InboundPayload = { readonly message: string }

/** A reply, whose files were fetched. */
type ReadyReply = Reply & { readonly fetched: FetchedFiles | null }

type InboundResult = {
  readonly replies: readonly ReadyReply[]
  readonly row: MessageRow | null
  readonly a2pUs: boolean
}

const nothing: InboundResult = { replies: [], row: null, a2pUs: false }

/** The program of a number, then its fallback. */
const programsOf = (addresses: store.NumberAddresses): Program[] => {
  const { sms_url, sms_method, sms_fallback_url, sms_fallback_method } = addresses
  const first = { url: sms_url, method: sms_method }
  return sms_fallback_url === '' ? [first] : [first, { url: sms_fallback_url, method: sms_fallback_method }]
}

/** The recipient of a reply; null if it is no number. */
const recipientOf = ({ to }: Reply, row: MessageRow): string | null => (to === null ? row.contact : e164(to))

/** Fetches the files of replies, before the transaction that sends them. */
const withFiles = async (
  services: Services,
  account: { readonly id: string; readonly a2pUs: boolean },
  row: MessageRow,
  replies: readonly Reply[],
): Promise<ReadyReply[]> => {
  const ready: ReadyReply[] = []
  for (const reply of replies) {
    const to = recipientOf(reply, row)
    const hasFiles = reply.media.length > 0 && to !== null
    const fetched = hasFiles ? await fetchFiles(services, account, { urls: reply.media, check: () => ({ to }) }) : null
    ready.push({ ...reply, fetched })
  }
  return ready
}

/** Returns the answer to an inbound message. A program that fails is logged, and the fallback learns its fault. */
const answerTo = async (
  services: Services,
  share: RequestShare,
  { id, payload }: Job<InboundPayload>,
  account: string,
  signal: AbortSignal,
): Promise<InboundResult> => {
  const { db, log } = services
  const access = await accessOf(services, account, share, signal)
  const row = access && (await findMessage(db, account, payload.message))
  const addresses = row && (await store.addressesOfNumber(db, account, row.number))
  if (!access || !row || !addresses) return nothing
  let parameters = inboundParameters(account, row, await filesOf(services.chat, db, account, row))
  const { a2pUs } = access
  for (const program of programsOf(addresses)) {
    try {
      const replies = await runProgram(access.deps, program, parameters, id)
      return { replies: await withFiles(services, { id: account, a2pUs }, row, replies), row, a2pUs }
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
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
  reply: ReadyReply,
): Promise<void> => {
  if (row === null) return
  const refused = (reason: string) => services.log.warn({ account, message: row.id, reason }, 'twilio: reply refused')
  const to = recipientOf(reply, row)
  const from = reply.from === null ? row.number : e164(reply.from)
  if (to === null || from === null) return refused('a number of the reply is not E.164')
  const { fetched } = reply
  if (fetched?.fault) return refused(fetched.fault.message)
  if (reply.text === '' && fetched === null) return refused('the reply has no text')
  // A page of a server's fault would be charged as hundreds of segments.
  if (reply.text.length > maxBodyLength) return refused(`the reply has more than ${maxBodyLength} characters`)
  if ((reply.callbackUrl ?? '').length > maxUrlLength) return refused('statusCallback is too long')
  try {
    const outgoing = {
      to,
      from,
      text: reply.text,
      sendAt: null,
      callbackUrl: reply.callbackUrl,
      uploads: fetched?.uploads ?? [],
    }
    await sendMessage(services, tx, { id: account, a2pUs, limitedKeys: null }, outgoing)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    refused(error.message)
  }
}

/** Posts inbound messages to programs, and sends what they answer. */
export const inboundJob = (services: Services): JobKind<InboundPayload, InboundResult> => {
  const share = makeRequestShare()
  return {
    ...share.kind,
    kind: inboundKind,
    maxAttempts: 5,
    run: (job, signal) => {
      const { account } = job
      if (account === null) throw new Discard('it has no account')
      return share.hold(account, () => answerTo(services, share, job, account, signal))
    },
    onComplete: async (tx, done) => {
      // Accounts are locked in one order (docs/locks.md).
      const ordered = done.toSorted((a, b) => ((a.job.account ?? '') < (b.job.account ?? '') ? -1 : 1))
      for (const { job, result } of ordered)
        for (const reply of result.replies)
          if (job.account !== null) await sendReply(services, tx, job.account, result, reply)
    },
  }
}
