import type { Db, Tx } from '../../../../platform/db/sql.ts'
import { type CompletedRun, Retry } from '../../../../platform/jobs/job-kind.ts'
import { storable } from '../../../../platform/lib/storable.ts'
import type { ChatLocation, ChatPeer, ChatSendResult, ChatTemplate } from '../../../../ports/chat-message.ts'
import { unknownFateSeconds } from '../../limits.ts'
import type { Media } from '../../media/ops.ts'
import type { Operation } from '../../operations/operation.ts'
import type { OperationPayload } from '../../operations/requests.ts'
import { snoozeForNetwork } from '../../operations/snooze.ts'
import { ackEvents, conversationEvent, type MessageEvent, publishEvents } from '../message-events.ts'
import type { ViewContextLoader } from '../message-presenter.ts'
import * as store from '../store.ts'

/** Payload that `store.accept` writes into a job. */
type SendPayload = {
  readonly number?: string
  readonly remote?: string
  readonly group?: string
  readonly text?: string
  readonly pin?: ChatLocation
  readonly media?: string
  readonly template?: ChatTemplate
  /** The conversation is new, or was quiet since this time. */
  readonly quiet?: string | null
}

type SendResult =
  | { readonly sent: ChatSendResult }
  | { readonly failure: { readonly code: string; readonly reason: string } }

export type SendDeps = {
  readonly db: Db
  readonly loadViewContext: ViewContextLoader
  readonly media: Pick<Media, 'fetch'>
}

const peerOf = ({ number, remote, group }: SendPayload): ChatPeer =>
  group === undefined ? { number: number ?? '', remote: remote ?? null } : { group }

/** Sanitises a network's words for storage. */
const sanitiseReason = (reason: string): string => storable(reason, 500)

const rowOf = ({ job, result }: CompletedRun<OperationPayload<SendPayload>, SendResult>): store.SentRow => ({
  account: job.account ?? '',
  id: job.id,
  channel: job.payload.channel,
  networkId: 'sent' in result ? result.sent.id : null,
  failure: 'failure' in result ? result.failure : null,
})

/** Stores the results of sent messages, and publishes them. */
const complete = async (
  tx: Tx,
  loadViewContext: ViewContextLoader,
  done: readonly CompletedRun<OperationPayload<SendPayload>, SendResult>[],
) => {
  const rows = done.map(rowOf)
  const changed = new Map((await store.storeSent(tx, rows)).map((step) => [step.id, step]))
  await publishEvents(
    tx,
    loadViewContext,
    done.flatMap(({ job }): MessageEvent[] => {
      const step = changed.get(job.id)
      if (!step) return []
      const { account_id: account, id, was, ack, failed } = step
      const { quiet } = job.payload
      return [
        ...(quiet === undefined || ack < 1 ? [] : [conversationEvent(account, id, quiet)]),
        ...ackEvents(account, id, was, ack),
        ...(failed ? [{ account, message: id, name: 'msgapp.message.failed' } as const] : []),
      ]
    }),
  )
}

/** Sends a message under its own id, so that a repeat can be recognised by the network. */
export const makeSendOperation = ({ db, loadViewContext, media }: SendDeps): Operation<SendPayload, SendResult> => ({
  run: async (network, job, signal) => {
    const { payload } = job
    // An answer may have been lost, and the network may have reported the message since.
    const known = job.attempt > 1 && (await store.networkId(db, job.account ?? '', job.id))
    if (known) return { sent: { id: known, at: Date.now() } }
    const fetched = payload.media === undefined ? null : await media.fetch(job, payload.media, network, signal)
    if (fetched && 'failure' in fetched) return fetched
    const answer = await network.send(payload.channel, {
      id: job.id,
      to: peerOf(payload),
      text: payload.text ?? null,
      file: fetched?.file ?? null,
      pin: payload.pin ?? null,
      ...(payload.template ? { template: payload.template } : {}),
    })
    if (answer.outcome === 'done') return { sent: answer.value }
    if (answer.outcome === 'refused')
      return { failure: { code: answer.code ?? 'refused', reason: sanitiseReason(answer.reason) } }
    if (answer.outcome === 'later') return snoozeForNetwork(job, answer)
    throw new Retry(answer.reason, unknownFateSeconds)
  },
  onComplete: (tx, done) => complete(tx, loadViewContext, done),
  onDiscard: (tx, job, reason) =>
    complete(tx, loadViewContext, [{ job, result: { failure: { code: 'given_up', reason: sanitiseReason(reason) } } }]),
})
