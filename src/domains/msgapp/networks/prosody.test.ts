import { startProsodyPlatform } from '../../../../test/counterparts/prosody-platform.ts'
import { needs } from '../../../../test/needs.ts'
import { chatSuite } from './chat.conformance.ts'

// Prosody, an independent XMPP server, with people on it who use their own clients.

for (const mode of ['client', 'component'] as const)
  chatSuite(`Prosody, in ${mode} mode`, () => startProsodyPlatform(mode), needs('prosody'))
