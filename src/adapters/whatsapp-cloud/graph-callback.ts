import type { ChatDriver, ChatEvents } from '../../ports/chat.ts'
import { isEqualSecret, isSigned } from './codec/signature.ts'
import { parseWebhook, type WebhookEvent } from './codec/webhook-payload.ts'
import type { WhatsappCloudSettings } from './whatsapp-cloud-settings.ts'

const publish = (events: ChatEvents, channel: string, event: WebhookEvent): Promise<void> => {
  switch (event.kind) {
    case 'message':
      return events.inbound(channel, event.message)
    case 'reaction':
      return events.reaction(channel, event)
    case 'edited':
      return events.edited(channel, event)
    case 'receipt':
      return events.receipt(channel, event.receipt)
    case 'failure':
      return events.failure(channel, event.failure)
    case 'call':
      return events.call(channel, event.call)
    case 'renamed':
      return events.renamed(channel, event.before, event.number)
  }
}

const unauthorized = { status: 401, body: 'the request is not from the network' } as const

const parsed = (raw: Buffer): unknown => {
  try {
    return JSON.parse(raw.toString('utf8'))
  } catch {
    return null
  }
}

/**
 * Handles a webhook call of the network: the address verification (`hub.challenge`), or events authenticated by their
 * signature. The response follows persistence; the network repeats unconfirmed events for days.
 */
export const answerCallback: NonNullable<ChatDriver<WhatsappCloudSettings>['callback']> = async (
  { app_secret, verify_token },
  { method, query, headers, raw },
  { events, log },
  lineOf,
) => {
  if (method === 'GET') {
    const isAsking = query['hub.mode'] === 'subscribe' && isEqualSecret(query['hub.verify_token'] ?? '', verify_token)
    return isAsking ? { status: 200, body: query['hub.challenge'] ?? '' } : unauthorized
  }
  if (!isSigned(app_secret, raw, headers['x-hub-signature-256'])) return unauthorized
  const body = parsed(raw)
  if (body === null) return { status: 400, body: 'the body is not JSON' }
  const published = parseWebhook(body).map(async ({ id, number, events: webhookEvents }) => {
    const channel = await lineOf({ id, number })
    // An account may have numbers that are not on this platform.
    if (channel === null) return log('unknown-number', { id, number })
    await Promise.all(webhookEvents.map((one) => publish(events, channel, one)))
  })
  await Promise.all(published)
  return { status: 200, body: '' }
}
