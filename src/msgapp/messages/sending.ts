import type { ChatPeer, ChatPin, ChatSent, ChatTemplate } from '../../connectors/message-port.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { type Done, Retry } from '../../jobs/kind.ts'
import type { Act } from '../acts.ts'
import type { Asked } from '../asking.ts'
import { asTold } from '../later.ts'
import type { Media } from '../media/ops.ts'
import { dropEchoes } from './echoes.ts'
import type { Surroundings } from './shown.ts'
import * as store from './store.ts'
import { begun, steps, type Told, tell } from './told.ts'

/** What `store.accept` writes into a job. */
type Payload = {
  readonly number?: string
  readonly remote?: string
  readonly group?: string
  readonly text?: string
  readonly pin?: ChatPin
  readonly media?: string
  readonly template?: ChatTemplate
  /** The conversation is new, or was quiet since then. */
  readonly quiet?: string | null
}

type Result = { readonly sent: ChatSent } | { readonly failure: { readonly code: string; readonly reason: string } }

export type SendingParts = {
  readonly db: Db
  readonly surroundings: Surroundings
  readonly media: Pick<Media, 'fetch'>
}

/** Whether the network has the message is not known: so long it may still tell of it. */
const doubtSeconds = 5

const peerOf = ({ number, remote, group }: Payload): ChatPeer =>
  group === undefined ? { number: number ?? '', remote: remote ?? null } : { group }

/** A network's words as they are kept. */
const words = (reason: string): string => reason.replaceAll('\0', '').toWellFormed().slice(0, 500)

const rowOf = ({ job, result }: Done<Asked<Payload>, Result>): store.SentRow => ({
  account: job.account ?? '',
  id: job.id,
  channel: job.payload.channel,
  networkId: 'sent' in result ? result.sent.id : null,
  failure: 'failure' in result ? result.failure : null,
})

/** Writes down what became of messages, and tells of it. */
const settle = async (tx: Tx, surroundings: Surroundings, done: readonly Done<Asked<Payload>, Result>[]) => {
  const rows = done.map(rowOf)
  await store.amongSettlers(tx, [...new Set(rows.map(({ channel }) => channel))])
  await dropEchoes(tx, rows)
  const changed = new Map((await store.sent(tx, rows)).map((step) => [step.id, step]))
  await tell(
    tx,
    surroundings,
    done.flatMap(({ job }): Told[] => {
      const step = changed.get(job.id)
      if (!step) return []
      const { account_id: account, id, was, ack, failed } = step
      const { quiet } = job.payload
      return [
        ...(quiet === undefined || ack < 1 ? [] : [begun(account, id, quiet)]),
        ...steps(account, id, was, ack),
        ...(failed ? [{ account, message: id, name: 'msgapp.message.failed' } as const] : []),
      ]
    }),
  )
}

/** Sends a message. The network is given the message's id, so that what is sent again can be known again there. */
export const makeSend = ({ db, surroundings, media }: SendingParts): Act<Payload, Result> => ({
  run: async (network, job, signal) => {
    const { payload } = job
    // An answer may have been lost, and the network have told of the message since.
    const known = job.attempt > 1 && (await store.networkId(db, job.account ?? '', job.id))
    if (known) return { sent: { id: known, at: Date.now() } }
    const fetched = payload.media === undefined ? null : await media.fetch(job, payload.media, network, signal)
    if (fetched && 'failure' in fetched) return fetched
    const told = await network.send(payload.channel, {
      id: job.id,
      to: peerOf(payload),
      text: payload.text ?? null,
      file: fetched?.file ?? null,
      pin: payload.pin ?? null,
      ...(payload.template ? { template: payload.template } : {}),
    })
    if (told.outcome === 'done') return { sent: told.value }
    if (told.outcome === 'refused') return { failure: { code: told.code ?? 'refused', reason: words(told.reason) } }
    if (told.outcome === 'later') return asTold(job, told)
    throw new Retry(told.reason, doubtSeconds)
  },
  settle: (tx, done) => settle(tx, surroundings, done),
  failed: (tx, job, reason) =>
    settle(tx, surroundings, [{ job, result: { failure: { code: 'given_up', reason: words(reason) } } }]),
})
