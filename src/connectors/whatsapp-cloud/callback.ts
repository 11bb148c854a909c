import type { ChatDriver, ChatEvents } from '../chat-port.ts'
import { readNotices, type Told } from './codec/notice.ts'
import { isSame, isSigned } from './codec/signature.ts'
import type { WhatsappCloudSettings } from './settings.ts'

const pass = (events: ChatEvents, channel: string, told: Told): Promise<void> => {
  switch (told.news) {
    case 'message':
      return events.inbound(channel, told.message)
    case 'reaction':
      return events.reaction(channel, told)
    case 'edited':
      return events.edited(channel, told)
    case 'receipt':
      return events.receipt(channel, told.receipt)
    case 'failure':
      return events.failure(channel, told.failure)
    case 'call':
      return events.call(channel, told.call)
  }
}

const refused = { status: 401, body: 'the request is not the network’s' } as const

const parsed = (raw: Buffer): unknown => {
  try {
    return JSON.parse(raw.toString('utf8'))
  } catch {
    return null
  }
}

/**
 * Answers the network: the question whether the address is ours (`hub.challenge`), and what it tells, which is believed by the
 * signature of its bytes alone. Answered only once all of it is kept; the network tells again what was not, for days.
 */
export const answerCallback: NonNullable<ChatDriver<WhatsappCloudSettings>['callback']> = async (
  { app_secret, verify_token },
  { method, query, headers, raw },
  { events, log },
  lineOf,
) => {
  if (method === 'GET') {
    const isAsking = query['hub.mode'] === 'subscribe' && isSame(query['hub.verify_token'] ?? '', verify_token)
    return isAsking ? { status: 200, body: query['hub.challenge'] ?? '' } : refused
  }
  if (!isSigned(app_secret, raw, headers['x-hub-signature-256'])) return refused
  const body = parsed(raw)
  if (body === null) return { status: 400, body: 'the body is no JSON' }
  const kept = readNotices(body).map(async ({ number, told }) => {
    const channel = await lineOf(number)
    // An account may have numbers that are not on this platform.
    if (channel === null) return log('told of a number that is no channel', { number })
    await Promise.all(told.map((one) => pass(events, channel, one)))
  })
  await Promise.all(kept)
  return { status: 200, body: '' }
}
