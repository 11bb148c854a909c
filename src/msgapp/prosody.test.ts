import { startOnProsody } from '../../test/counterparts/on-prosody.ts'
import { needs } from '../../test/needs.ts'
import { chatSuite } from './msgapp.conformance.ts'

// Prosody, an XMPP server that we did not write, and people on it with applications of their own.

for (const mode of ['client', 'component'] as const)
  chatSuite(`Prosody, in ${mode} mode`, () => startOnProsody(mode), needs('prosody'))
