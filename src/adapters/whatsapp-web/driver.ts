import type { ChatDriver } from '../../ports/chat.ts'
import { notice } from './notice.ts'
import type { WhatsappWebSettings } from './whatsapp-web-settings.ts'

/**
 * Numbers linked as WhatsApp Web, through an unofficial library that is installed separately (docs/whatsapp-web.md).
 */
export const whatsappWebDriver: ChatDriver<WhatsappWebSettings> = {
  platform: 'whatsapp-web',
  provesPossession: 'pairing',
  capabilitiesOf: () => ({
    send: 'yes',
    templates: 'no',
    media: 'yes',
    location: 'yes',
    receipts: 'yes',
    read_receipts: 'yes',
    check: 'yes',
    check_extra: 'emulated',
    picture: 'emulated',
    status: 'yes',
    groups: 'yes',
    group_changes: 'yes',
    contacts: 'yes',
    history: 'emulated',
    calls: 'emulated',
    remove: 'yes',
    mark_read: 'yes',
  }),
  notes: {
    send: notice,
    templates: 'WhatsApp Web has no templates: any number can be written to, at the risk of yours.',
    media: 'One file in a message; audio has no caption.',
    location: 'A location has no caption.',
    check_extra: 'Public data only: picture, status, description, website, e-mail, hours; no verification status.',
    picture: 'JPEG only; the bytes are sent unchanged.',
    contacts: 'Stored in the address book of the phone after it has shared its keys; only numbers on the network.',
    history:
      'The network stores messages while the number is offline; conversations from before the link are not read.',
    calls: 'Reported, never answered.',
  },
  checksPerMinute: 30,
  load: async () => ({ start: (await import('./whatsapp-web-network.ts')).connectWhatsappWeb }),
}
