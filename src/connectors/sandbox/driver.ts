import type { ChatDriver } from '../chat-port.ts'
import type { SandboxSettings } from './link.ts'
import { connectSandbox } from './network.ts'

/** The chat network of the sandbox (simulator/chat), which can do everything that the port knows. */
export const sandboxDriver: ChatDriver<SandboxSettings> = {
  platform: 'sandbox',
  provesPossession: 'simulated',
  abilitiesOf: () => ({
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
  notes: { templates: 'The sandbox’s network has no templates: anybody may be written to.' },
  checksPerMinute: 30,
  start: connectSandbox,
}
