import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import type { ChatDriver } from '../../ports/chat.ts'

/**
 * Connects numbers to an XMPP server (RFC 6120): each with its own login, or all over one component link (XEP-0114).
 */
export const xmppDriver: ChatDriver<XmppSettings> = {
  platform: 'xmpp',
  provesPossession: 'none',
  capabilitiesOf: ({ mode }) => ({
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
    templates: 'XMPP has no templates: any address can be written to.',
    check:
      'On the own server only: with its administrator (XEP-0133) if the connection names one and the server answers, else with an invisible message.',
    check_extra: 'The public card (XEP-0292) and the public web address of the picture.',
    status: 'Shown with the presence, to subscribers.',
    group_changes: 'Whether groups have pictures depends on the server.',
    contacts: 'Stored in the account’s roster; a component has none.',
    history:
      'Read from the account’s archive (XEP-0313). A component has none: messages sent while it is offline are returned to the sender.',
    calls: 'Reported, never answered (XEP-0353, XEP-0166).',
    remove: 'The recipient’s application is asked to delete the message (XEP-0424); it may not support that.',
  },
  checksPerMinute: 600,
  load: async () => {
    const { XmppNetwork } = await import('./xmpp-network.ts')
    return { start: (settings, deps) => new XmppNetwork(settings, deps) }
  },
}
