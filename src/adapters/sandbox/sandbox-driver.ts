import type { ChatDriver } from '../../ports/chat.ts'
import type { SandboxSettings } from './link.ts'

/** The sandbox's chat network (simulator/chat), which supports every operation of the port. */
export const sandboxDriver: ChatDriver<SandboxSettings> = {
  platform: 'sandbox',
  provesPossession: 'simulated',
  capabilitiesOf: () => ({
    send: 'yes',
    templates: 'no',
    media: 'yes',
    location: 'yes',
    receipts: 'yes',
    read_receipts: 'yes',
    check: 'yes',
    check_extra: 'yes',
    picture: 'yes',
    status: 'yes',
    groups: 'yes',
    group_changes: 'yes',
    contacts: 'yes',
    history: 'yes',
    calls: 'yes',
    remove: 'yes',
    mark_read: 'yes',
  }),
  notes: { templates: 'The sandbox’s network has no templates: any number can be written to.' },
  checksPerMinute: 30,
  load: async () => ({ start: (await import('./sandbox-network.ts')).connectSandbox }),
}
