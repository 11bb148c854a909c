import type { ChatDriver } from '../chat-port.ts'
import { XmppNetwork } from './network.ts'
import type { XmppSettings } from './settings.ts'

/** Numbers on an XMPP server (RFC 6120): each by a login of its own, or all by one link of a component (XEP-0114). */
export const xmppDriver: ChatDriver<XmppSettings> = {
  platform: 'xmpp',
  provesPossession: 'none',
  abilitiesOf: ({ mode }) => ({
    send: 'yes',
    templates: 'no',
    media: 'yes',
    location: 'yes',
    receipts: 'yes',
    read_receipts: 'yes',
    check: 'emulated',
    check_extra: 'emulated',
    picture: 'yes',
    status: 'emulated',
    groups: 'yes',
    group_changes: 'emulated',
    contacts: mode === 'client' ? 'emulated' : 'no',
    history: mode === 'client' ? 'emulated' : 'no',
    calls: 'emulated',
    remove: 'emulated',
    mark_read: 'yes',
  }),
  notes: {
    templates: 'XMPP has no templates: anybody may be written to.',
    check:
      'Of the own server: by its administrator (XEP-0133) where the connection names one, else by a message that nobody sees.',
    check_extra: 'The card (XEP-0292) and the picture’s address on the Web, as far as they are shown to everybody.',
    status: 'Shown with the presence, to those who ask for that.',
    group_changes: 'Whether groups have pictures depends on the server.',
    contacts: 'Kept in the account’s list of contacts; a component has none.',
    history:
      'Read from the account’s archive (XEP-0313); a component has none: who writes while it is away is told so.',
    calls: 'Told of, never answered (XEP-0353, XEP-0166).',
    remove: 'The other side’s application is asked to forget the message (XEP-0424); it may not know how to.',
  },
  checksPerMinute: 600,
  start: (settings, tools) => new XmppNetwork(settings, tools),
}
