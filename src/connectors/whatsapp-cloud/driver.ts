import type { ChatDriver } from '../chat-port.ts'
import { answerCallback } from './callback.ts'
import { WhatsappCloudNetwork } from './network.ts'
import type { WhatsappCloudSettings } from './settings.ts'

/** Numbers of a WhatsApp business account, by the official Graph API (Cloud API). */
export const whatsappCloudDriver: ChatDriver<WhatsappCloudSettings> = {
  platform: 'whatsapp-cloud',
  provesPossession: 'listing',
  abilitiesOf: () => ({
    send: 'emulated',
    templates: 'yes',
    media: 'yes',
    location: 'yes',
    receipts: 'yes',
    read_receipts: 'yes',
    check: 'no',
    check_extra: 'no',
    picture: 'emulated',
    status: 'emulated',
    groups: 'no',
    group_changes: 'no',
    contacts: 'no',
    history: 'no',
    calls: 'yes',
    remove: 'no',
    mark_read: 'yes',
  }),
  notes: {
    send: 'To whoever wrote in the last 24 hours; to others the network takes only templates that it approved: 131047.',
    media: 'One file in a message; sound goes without a text.',
    location: 'A place goes without a text.',
    check: 'The Cloud API does not tell whether a number is on WhatsApp.',
    check_extra: 'The Cloud API shows nothing of others but the name of who writes.',
    picture: 'Set in the business profile; the Cloud API has no way to take it away.',
    status: 'It is the “about” of the business profile, 1 to 139 characters.',
    groups: 'The Groups API is for official business accounts alone, and only invites by links.',
    group_changes: 'See groups.',
    contacts: 'The Cloud API has no address book.',
    history: 'The Cloud API shows no messages of the past; what could not be told is told again for days.',
    calls: 'Told of, never answered; where calling is switched on for the number.',
    remove: 'The Cloud API cannot take a message back.',
  },
  checksPerMinute: 0,
  start: (settings, tools) => new WhatsappCloudNetwork(settings, tools),
  callback: answerCallback,
}
