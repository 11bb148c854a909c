import { words } from '../words/en/notifications.ts'

// Messages of Web Push, as src/domains/push/push-sender.ts makes them. The service worker shows them; pages that are
// open and away show the same notifications, so that both have one text and one tag.

export type PushMessage = {
  readonly kind: 'message' | 'missed_call' | 'mention' | 'call' | 'test' | 'close'
  /** One notification for each: a later one replaces it. */
  readonly tag?: string
  /** `ACC…` */
  readonly account?: string
  /** `CNV…` */
  readonly conversation?: string
  /** Conversations with a notification. */
  readonly count?: number
  /** Absent unless the account allows names. */
  readonly name?: string
}

export type NotificationText = {
  readonly title: string
  readonly body: string
  readonly tag: string
  /** Address of the page that a click opens. */
  readonly url: string
}

const { shown } = words

const titleOf = ({ kind, name }: PushMessage): string => {
  switch (kind) {
    case 'call':
      return name ? shown.callFrom(name) : shown.call
    case 'missed_call':
      return name ? shown.missedCallFrom(name) : shown.missedCall
    case 'mention':
      return name ? shown.mentionIn(name) : shown.mention
    case 'test':
      return shown.test
    default:
      return name ? shown.messageFrom(name) : shown.message
  }
}

const urlOf = ({ kind, account, conversation }: PushMessage): string => {
  if (!account) return '/console/you/notifications'
  return kind !== 'call' && conversation ? `/console/${account}/inbox/all/${conversation}` : `/console/${account}/inbox`
}

/** Returns the notification of a message. It never has the text that a person wrote. */
export const notificationOf = (message: PushMessage): NotificationText => {
  const { kind, tag = kind, count = 1 } = message
  const body = kind === 'test' ? shown.testBody : count > 1 && kind !== 'call' ? shown.waiting(count) : ''
  return { title: titleOf(message), body, tag, url: urlOf(message) }
}
