import { e164 } from '@trunkline/phone/phone.ts'
import type { Segments } from '@trunkline/phone/segments.ts'
import type { Static } from 'typebox'
import type { Sql } from '../../../platform/db/sql.ts'
import type { Account } from '../../../platform/http/auth.ts'
import { Problem } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { TimeSlice } from '../../../platform/lib/time-slice.ts'
import type { Services } from '../../../services.ts'
import { formatSegmentation, quoteFor, segmentFor } from '../accept/quote.ts'
import { checkLength, requireSender } from '../ops.ts'
import { refusals } from '../refusals.ts'
import type { Decision } from '../route/route-table.ts'
import type { ChannelRow, ValidMessage } from '../store.ts'
import type { sendManySms } from './contract.ts'

type Body = Static<(typeof sendManySms)['body']>

/** A message of the request, with the JSON pointers of its fields. */
type GivenMessage = {
  readonly to: string
  readonly from: string | undefined
  readonly text: string | undefined
  readonly pointers: Readonly<Record<'to_number' | 'from_number' | 'text', string>>
}

/** Returns the messages of a request. @throws Problem 400 unless it has either messages or recipients */
export const messagesOf = ({ from_number: from, text, to_numbers: recipients, messages }: Body): GivenMessage[] => {
  if ((recipients === undefined) === (messages === undefined)) throw refusals.messagesRequired()
  const common = { from_number: '/from_number', text: '/text' }
  if (recipients)
    return recipients.map((to, i) => ({ to, from, text, pointers: { ...common, to_number: `/to_numbers/${i}` } }))
  return (messages ?? []).map((one, i) => ({
    to: one.to_number,
    from: one.from_number ?? from,
    text: one.text ?? text,
    pointers: {
      to_number: `/messages/${i}/to_number`,
      from_number:
        one.from_number === undefined && from !== undefined ? common.from_number : `/messages/${i}/from_number`,
      text: one.text === undefined && text !== undefined ? common.text : `/messages/${i}/text`,
    },
  }))
}

/** Names the field of a refusal in the request. */
export const pointAt = (problem: Problem, pointers: GivenMessage['pointers']): Problem => {
  const [field] = problem.fields
  return field === 'to_number' || field === 'from_number' || field === 'text' ? problem.at(pointers[field]) : problem
}

type ReadDeps = Pick<Services, 'channels' | 'prices' | 'routing' | 'sandboxAccounts'>

const numberOf = (text: string, field: string): string => {
  const number = e164(text)
  if (number === null) throw httpRefusals.badPhoneNumber(text).at(field)
  return number
}

/** Makes a function that validates the messages of one request, and reads once whatever they share. */
const makeReader = (deps: ReadDeps, sql: Sql, account: Pick<Account, 'id' | 'a2pUs'>) => {
  const senders = new Map<string, ChannelRow | null>()
  /** Segments of the text that was segmented last, by route. */
  const segmented = { text: '', byDecision: new Map<Decision, Segments>() }

  const channelOf = async (from: string): Promise<ChannelRow> => {
    let channel = senders.get(from)
    if (channel === undefined) {
      channel = await deps.channels.find(account.id, from, sql)
      senders.set(from, channel)
    }
    return requireSender(channel, from, deps.sandboxAccounts.has(account.id))
  }

  const segmentsOf = (text: string, decision: Decision): Segments => {
    if (segmented.text !== text) {
      segmented.text = text
      segmented.byDecision.clear()
    }
    const segments = segmented.byDecision.get(decision) ?? segmentFor(text, decision)
    segmented.byDecision.set(decision, segments)
    return segments
  }

  /** @throws the 400, 403, 404 or 422 Problem */
  return async (message: GivenMessage): Promise<ValidMessage> => {
    if (!message.text) throw refusals.textRequired()
    const text = checkLength(message.text)
    if (!message.from) throw refusals.senderRequired()
    const from = numberOf(message.from, 'from_number')
    const to = numberOf(message.to, 'to_number')
    const { decision, pricePerSegment } = quoteFor(deps, account, to)
    const channel = await channelOf(from)
    const keeping = deps.routing.ensurePersisted(decision)
    if (keeping) await keeping
    const segments = segmentsOf(text, decision)
    const fragments = segments.parts.length
    return {
      account: account.id,
      id: uuid(),
      channel: channel.id,
      number: from,
      contact: to,
      text,
      encoding: segments.encoding,
      fragments,
      price: pricePerSegment * fragments,
      decision: decision.id,
      long: formatSegmentation(decision.header, segments.shift),
    }
  }
}

/** Validates messages, as a single send does. @returns each message, or the refusal of it */
export const readMessages = async (
  deps: ReadDeps,
  sql: Sql,
  account: Pick<Account, 'id' | 'a2pUs'>,
  messages: readonly GivenMessage[],
): Promise<(ValidMessage | Problem)[]> => {
  const read = makeReader(deps, sql, account)
  const slice = new TimeSlice()
  const results: (ValidMessage | Problem)[] = []
  for (const message of messages) {
    try {
      results.push(await read(message))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      results.push(pointAt(error, message.pointers))
    }
    if (slice.isOver) await slice.yieldToLoop()
  }
  return results
}
