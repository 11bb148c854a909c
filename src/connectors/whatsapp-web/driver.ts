import type { ChatDriver } from '../chat-port.ts'
import { connectWhatsappWeb } from './network.ts'
import { notice } from './notice.ts'
import type { WhatsappWebSettings } from './settings.ts'

/** Numbers linked as WhatsApp Web, by an unofficial library that is installed apart (docs/whatsapp-web.md). */
export const whatsappWebDriver: ChatDriver<WhatsappWebSettings> = {
  platform: 'whatsapp-web',
  provesPossession: 'pairing',
  abilitiesOf: () => ({
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
    templates: 'WhatsApp Web has no templates: anybody may be written to, at the risk of the number.',
    media: 'One file in a message; sound goes without a text.',
    location: 'A place goes without a text.',
    check_extra:
      'As far as they show it: picture, status, description, website, e-mail, hours; nothing of verification.',
    picture: 'JPEG alone; the bytes go as they are.',
    contacts: 'In the address book of the phone, once that has shared its keys; only numbers that are on the network.',
    history: 'The network keeps what came while the number was away; conversations of before the link are not read.',
    calls: 'Told of, never answered.',
  },
  checksPerMinute: 30,
  start: connectWhatsappWeb,
}
