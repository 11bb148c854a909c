import { print } from '../../../platform/lib/id.ts'
import type { Fact } from '../../timelines/contract.ts'
import {
  attemptFacts,
  nothingToDo,
  type Publication,
  type TimelineFact,
  type Verdict,
  webhookStep,
} from '../../timelines/ops.ts'
import { failureOf } from './failure-reasons.ts'
import type { TimelineRow } from './store.ts'

/** Facts that events record. Their rows keep only the newest state of a message. */
const factsOfEvents = new Map<string, { readonly what: Fact; readonly text: string }>([
  ['msgapp.message.sent', { what: 'submitted', text: 'The network accepted the message' }],
  ['msgapp.message.receipt.received', { what: 'receipt', text: 'The recipient received the message' }],
  ['msgapp.message.receipt.read', { what: 'read', text: 'The recipient read the message' }],
  ['msgapp.message.edited', { what: 'edited', text: 'The message was edited' }],
  ['msgapp.message.reaction', { what: 'note', text: 'A reaction was added or removed' }],
])

const startOf = (row: TimelineRow): TimelineFact => {
  const at = row.created_at
  if (row.direction === 'inbound') return { at, what: 'received', text: 'The message was received' }
  return row.sent_by === 'api'
    ? { at, what: 'accepted', text: 'The message was accepted' }
    : { at, what: 'submitted', text: 'The message was sent from another device of the number' }
}

/** Returns the stored facts about a message. */
export const messageFacts = (row: TimelineRow, { events, deliveries }: Publication): TimelineFact[] => {
  const published = events.flatMap(({ id, name, created_at: at }): TimelineFact[] => {
    const detail = { event_uuid: print('EVT', id) }
    if (name === 'msgapp.message.failed')
      return [{ at, what: 'failed', text: failureOf(row.failure_code ?? '', row.failure_reason).text, detail }]
    const fact = factsOfEvents.get(name)
    return fact && (row.direction === 'outbound' || fact.what === 'edited' || fact.what === 'note')
      ? [{ at, ...fact, detail }]
      : []
  })
  const isKnown = (what: Fact) => published.some((fact) => fact.what === what)
  return [
    startOf(row),
    ...published,
    ...(row.read_at && !isKnown('read')
      ? [{ at: row.read_at, what: 'read' as const, text: 'The recipient read the message' }]
      : []),
    ...(row.edited_at && !isKnown('edited')
      ? [{ at: row.edited_at, what: 'edited' as const, text: 'The message was edited' }]
      : []),
    ...(row.failure_code !== null && !isKnown('failed')
      ? [{ at: row.updated_at, what: 'failed' as const, text: failureOf(row.failure_code, row.failure_reason).text }]
      : []),
    ...attemptFacts(deliveries),
  ]
}

const outboundVerdict = (row: TimelineRow): Verdict => {
  if (row.failure_code !== null && row.ack < 2) {
    const { text, step } = failureOf(row.failure_code, row.failure_reason)
    return { state: 'failed', code: row.failure_code, text: `${text}.`, step }
  }
  if (row.ack >= 3) return { state: 'succeeded', text: 'The recipient read the message.', step: nothingToDo }
  if (row.ack === 2) return { state: 'succeeded', text: 'The recipient received the message.', step: nothingToDo }
  if (row.ack === 1)
    return {
      state: 'in_progress',
      text: 'The network accepted the message.',
      step: { kind: 'wait', text: 'Wait: the recipient receives it when their telephone is online.' },
    }
  if (row.link !== 'connected')
    return {
      state: 'in_progress',
      text: 'The message waits: its channel is not connected.',
      step: {
        kind: 'connect_channel',
        text: 'Connect the channel again. The message is sent then.',
        target: print('WPN', row.channel_id),
      },
    }
  return {
    state: 'in_progress',
    text: 'The message waits to be sent.',
    step: { kind: 'wait', text: 'Wait: it is sent as soon as the network accepts it.' },
  }
}

/** Returns how a message ended, and what helps next. */
export const messageVerdict = (row: TimelineRow, { deliveries }: Publication): Verdict => {
  const verdict: Verdict =
    row.direction === 'outbound'
      ? outboundVerdict(row)
      : { state: 'succeeded', text: 'The message was received.', step: nothingToDo }
  return verdict.step.kind === 'none' ? { ...verdict, step: webhookStep(deliveries) ?? verdict.step } : verdict
}
