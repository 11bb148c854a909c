import { startProsodyPlatform } from '../../../../test/counterparts/prosody-platform.ts'
import { startEjabberd } from '../../../../test/ejabberd.ts'
import { needs } from '../../../../test/needs.ts'
import { chatSuite } from './chat.conformance.ts'

// ejabberd, an independent XMPP server, with people on it who use their own clients.

chatSuite('ejabberd, as a component', () => startProsodyPlatform('component', startEjabberd), needs('ejabberdctl'))
