import type { ChatAbilities, ChatDriver } from '../chat-port.ts'
import { XmppNetwork } from './network.ts'
import type { XmppSettings } from './settings.ts'

const abilities: ChatAbilities = {
  send: 'yes',
  media: 'yes',
  location: 'yes',
  receipts: 'yes',
  read_receipts: 'yes',
  check: 'emulated',
  check_extra: 'emulated',
  picture: 'yes',
  status: 'yes',
  groups: 'yes',
  group_changes: 'emulated',
  contacts: 'yes',
  history: 'yes',
  calls: 'yes',
  remove: 'emulated',
  mark_read: 'yes',
}

const notes = {
  check:
    'Of the own server: by its administrator (XEP-0133) where the connection names one, else by a message that nobody sees.',
  check_extra: 'The card (XEP-0292) and the picture’s address on the Web, as far as they are shown to everybody.',
  group_changes: 'Pictures of groups depend on the server.',
  remove: 'The other side’s application is asked to forget the message (XEP-0424); it may not know how to.',
} as const

/** Each number logs in to an account of its own (RFC 6120). */
const client: ChatDriver<XmppSettings> = {
  platform: 'xmpp',
  abilities,
  notes,
  checksPerMinute: 600,
  start: (settings, tools) => new XmppNetwork(settings, tools),
}

/** One link for all numbers (XEP-0114): the server keeps nothing for them. */
const component: ChatDriver<XmppSettings> = {
  ...client,
  abilities: { ...abilities, contacts: 'no', history: 'no', status: 'emulated', picture: 'emulated' },
  notes: {
    ...notes,
    contacts: 'A component has no list of contacts.',
    history: 'A server keeps no archive for a component: who writes while the link is down is told so.',
    status: 'Shown by us to those who ask; changes reach them when they ask again.',
    picture: 'Shown by us to those who ask (XEP-0084, XEP-0054).',
  },
}

/** What an XMPP connection can do depends on how it is linked. */
export const xmppDriver = ({ mode }: Pick<XmppSettings, 'mode'>): ChatDriver<XmppSettings> =>
  mode === 'component' ? component : client
