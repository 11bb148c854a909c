import { print } from '../../platform/lib/id.ts'
import { OutboundError } from '../../platform/lib/outbound-exchange.ts'
import type { Services } from '../../services.ts'
import { exchangeLimits, paddedBytes } from './limits.ts'
import { encryptMessage } from './message-encryption.ts'
import { makePushKeys } from './push-keys.ts'
import { openTarget } from './push-target.ts'
import type { SubscriptionRow } from './store.ts'

/** A message to one browser. `ttl`: seconds for which the push service keeps it. Ids have no prefix. */
export type PushMessage = { readonly ttl: number } & (
  | { readonly kind: 'test' }
  | { readonly kind: 'close'; readonly account: string; readonly subject: string }
  | {
      readonly kind: 'message' | 'missed_call' | 'mention' | 'call'
      readonly account: string
      /** The conversation; of `call` the call. */
      readonly subject: string
      /** Conversations with a notification in this browser. */
      readonly count: number
      /** Absent unless the account allows names in notifications. */
      readonly name?: string
    }
)

export type PushOutcome =
  | { readonly outcome: 'delivered' }
  /** The push service does not know the browser any more: RFC 8030, 7.3. */
  | { readonly outcome: 'gone' }
  | { readonly outcome: 'failed'; readonly reason: string }

type SendResult = PushOutcome | { readonly outcome: 'retry'; readonly reason: string; readonly seconds: number | null }

/** Returns the JSON that the service worker reads: console/push/messages.ts. */
const bodyOf = (message: PushMessage): Buffer => {
  if (message.kind === 'test') return Buffer.from(JSON.stringify({ kind: 'test' }))
  const { kind, account, subject } = message
  // `close` ends a notification of either kind: its tag is the id alone.
  const place = kind === 'call' ? { call: print('CDR', subject) } : { conversation: print('CNV', subject) }
  const ids = { kind, tag: subject, account: print('ACC', account), ...(kind === 'close' ? {} : place) }
  const shown =
    message.kind === 'close' ? {} : { count: message.count, ...(message.name ? { name: message.name } : {}) }
  return Buffer.from(JSON.stringify({ ...ids, ...shown }))
}

/** A later message of the conversation replaces one that the browser has not got yet: RFC 8030, 5.4. */
const topicOf = (message: PushMessage): string | null =>
  message.kind === 'test' ? null : Buffer.from(message.subject.replaceAll('-', ''), 'hex').toString('base64url')

/** Apple ends subscriptions whose messages show nothing. Pages close such notifications themselves. */
const needsNotification = (endpoint: string): boolean => new URL(endpoint).hostname.endsWith('.push.apple.com')

const secondsOf = (retryAfter: string | null): number | null => {
  const seconds = Number(retryAfter)
  return retryAfter !== null && Number.isInteger(seconds) && seconds > 0 ? seconds : null
}

const judge = (status: number, retryAfter: string | null): SendResult => {
  const reason = `the push service replied ${status}`
  if (status >= 200 && status < 300) return { outcome: 'delivered' }
  if (status === 404 || status === 410) return { outcome: 'gone' }
  if (status === 429 || status >= 500) return { outcome: 'retry', reason, seconds: secondsOf(retryAfter) }
  return { outcome: 'failed', reason }
}

/** Delivers messages to push services (RFC 8030) through the guarded client, as webhooks are. */
export const makePushSender = ({ db, seal, config, publicUrl, outbound, sandboxAccounts }: Services) => {
  const keys = makePushKeys(db, seal, () => config.pushContact ?? publicUrl())

  return async (subscription: SubscriptionRow, message: PushMessage, signal: AbortSignal): Promise<SendResult> => {
    const { endpoint, p256dh, auth } = openTarget(seal, subscription)
    if (message.kind === 'close' && needsNotification(endpoint)) return { outcome: 'delivered' }
    const topic = topicOf(message)
    try {
      const { status, retryAfter } = await outbound.of(sandboxAccounts.has(subscription.account_id)).post({
        url: endpoint,
        headers: {
          // Tokens are by the machine's clock: the sandbox moves its own.
          authorization: await keys.authorization(endpoint, Date.now()),
          'content-encoding': 'aes128gcm',
          'content-type': 'application/octet-stream',
          ttl: String(message.ttl),
          urgency: message.kind === 'call' ? 'high' : 'normal',
          ...(topic ? { topic } : {}),
        },
        body: encryptMessage(bodyOf(message), { p256dh, auth }, { paddedBytes }),
        ...exchangeLimits,
        signal,
      })
      return judge(status, retryAfter)
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      if (error.code === 'refused') return { outcome: 'failed', reason: error.message }
      return { outcome: 'retry', reason: error.message, seconds: null }
    }
  }
}
