import type { ReplyOf } from '../api/client.ts'
import { Status, type Tone } from '../parts/status.tsx'
import { words } from '../words/en/sendings.ts'

export type Sending = ReplyOf<'GET /open/sms/sendings'>['sendings'][number]

const tones: Readonly<Record<Sending['state'], Tone>> = {
  running: 'info',
  paused: 'notice',
  canceled: 'neutral',
  completed: 'good',
}

export const SendingState = ({ state }: { readonly state: Sending['state'] }) => (
  <Status tone={tones[state]}>{words.states[state]}</Status>
)
