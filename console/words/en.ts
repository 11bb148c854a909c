import type { words as applications } from './en/applications.ts'
import type { words as calls } from './en/calls.ts'
import type { words as channels } from './en/channels.ts'
import type { words as clips } from './en/clips.ts'
import type { words as contacts } from './en/contacts.ts'
import type { words as conversation } from './en/conversation.ts'
import type { words as developers } from './en/developers.ts'
import type { words as events } from './en/events.ts'
import type { words as inbox } from './en/inbox.ts'
import type { words as logs } from './en/logs.ts'
import type { words as messageContent } from './en/message-content.ts'
import type { words as money } from './en/money.ts'
import type { words as notifications } from './en/notifications.ts'
import type { words as numbers } from './en/numbers.ts'
import type { words as parts } from './en/parts.ts'
import type { words as people } from './en/people.ts'
import type { words as phone } from './en/phone.ts'
import type { words as sendings } from './en/sendings.ts'
import type { words as settings } from './en/settings.ts'
import type { words as shell } from './en/shell.ts'
import type { words as signIn } from './en/sign-in.ts'
import type { words as start } from './en/start.ts'
import type { words as teamSettings } from './en/team-settings.ts'
import type { words as webhooks } from './en/webhook-portal.ts'
import type { words as you } from './en/you.ts'

/** The texts of a whole language: a translation is a value of this type. Every section adds one line. */
export type Catalogue = {
  readonly applications: typeof applications
  readonly calls: typeof calls
  readonly channels: typeof channels
  readonly clips: typeof clips
  readonly contacts: typeof contacts
  readonly conversation: typeof conversation
  readonly developers: typeof developers
  readonly notifications: typeof notifications
  readonly numbers: typeof numbers
  readonly events: typeof events
  readonly inbox: typeof inbox
  readonly logs: typeof logs
  readonly messageContent: typeof messageContent
  readonly money: typeof money
  readonly parts: typeof parts
  readonly people: typeof people
  readonly phone: typeof phone
  readonly sendings: typeof sendings
  readonly settings: typeof settings
  readonly signIn: typeof signIn
  readonly shell: typeof shell
  readonly start: typeof start
  readonly teamSettings: typeof teamSettings
  readonly webhooks: typeof webhooks
  readonly you: typeof you
}
