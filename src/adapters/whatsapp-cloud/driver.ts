import type { ChatDriver } from '../../ports/chat.ts'
import type { WhatsappCloudSettings } from './whatsapp-cloud-settings.ts'

/** Numbers of a WhatsApp business account, over the official Graph API (Cloud API). */
export const whatsappCloudDriver: ChatDriver<WhatsappCloudSettings> = {
  platform: 'whatsapp-cloud',
  provesPossession: 'listing',
  capabilitiesOf: () => ({
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
    send: 'Free text only to people who wrote in the last 24 hours; to others the network accepts only approved templates (error 131047).',
    media: 'One file in a message; audio has no caption.',
    location: 'A location has no caption.',
    check: 'The Cloud API does not say whether a number is on WhatsApp.',
    check_extra: 'The Cloud API shows only the names of people who write to you.',
    picture: 'Set in the business profile; the Cloud API cannot remove it.',
    status: 'The “about” of the business profile, 1 to 139 characters.',
    groups: 'The Groups API is only for official business accounts, and only supports invitation links.',
    group_changes: 'See groups.',
    contacts: 'The Cloud API has no address book.',
    history: 'The Cloud API has no message history; undelivered events are repeated for days.',
    calls: 'Reported, never answered; only if calling is enabled for the number.',
    remove: 'The Cloud API cannot delete a sent message.',
  },
  checksPerMinute: 0,
  freeTextHours: 24,
  load: async () => {
    const { WhatsappCloudNetwork } = await import('./whatsapp-cloud-network.ts')
    return { start: (settings, deps) => new WhatsappCloudNetwork(settings, deps) }
  },
  callback: async (settings, request, deps, channelOf) => {
    const { answerCallback } = await import('./graph-callback.ts')
    return await answerCallback(settings, request, deps, channelOf)
  },
}
