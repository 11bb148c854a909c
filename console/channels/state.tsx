import type { ReplyOf } from '../api/client.ts'
import { Status, type Tone } from '../parts/status.tsx'
import { words } from '../words/en/channels.ts'
import { duration } from '../words/format.ts'

export type Channel = ReplyOf<'GET /open/msgapp/get-numbers'>['numbers'][number]
export type ChannelStatus = ReplyOf<'GET /open/msgapp/channel/:channel_uuid/status'>

const tones: Readonly<Record<Channel['connection_status'], Tone>> = { C: 'good', D: 'notice', F: 'bad' }

/** The state of a channel, as the last round trip proves it. */
export const State = ({ of }: { of: Pick<Channel, 'connection_status' | 'enabled'> & Partial<ChannelStatus> }) => {
  const { connection_status: status, enabled, phase } = of
  if (!enabled) return <Status tone="neutral">{words.states.off}</Status>
  // A phase may still be `connected` when the proof is too old.
  if (status === 'D' && phase && phase !== 'connected' && phase !== 'failed')
    return <Status tone={phase === 'pairing' ? 'info' : 'notice'}>{words.phases[phase]}</Status>
  return <Status tone={tones[status]}>{words.states[status]}</Status>
}

/** The age of the last round trip with the network. */
export const Proof = ({ seconds }: { seconds: number | undefined }) =>
  seconds === undefined ? (
    <span class="soft">{words.noProof}</span>
  ) : (
    <span class="tabular nowrap">{words.proofAgo(duration(Math.max(1, seconds) * 1_000))}</span>
  )

/** A reason of the link as a sentence begins: the server writes them for logs. */
export const reasonText = (reason: string): string => reason.charAt(0).toUpperCase() + reason.slice(1)
