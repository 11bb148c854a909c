import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import type { Header } from '@trunkline/sip/message.ts'
import type { VoiceUser } from '../../../ports/voice.ts'
import type { Trunk } from '../trunks/trunk.ts'

/** The calling side: a trunk, a person at a browser, or ourselves. */
export type Caller = {
  readonly incoming: IncomingCall
  readonly trunk: Trunk | null
  readonly person: VoiceUser | null
  readonly headers: readonly Header[]
  /** The caller withholds its number: nothing that names the call shows it. */
  readonly isWithheld: boolean
}
