import type { MediaCall, MediaEngine, MediaLeg } from '../../port.ts'
import type { VoiceFinding } from '../../voice-port.ts'
import type { Agent } from '../codec/agent/agent.ts'
import type { OutgoingCall } from '../codec/dialog/outgoing.ts'
import type { Session } from '../codec/dialog/session.ts'
import type { Answer } from '../codec/reply.ts'
import { failed, ofOutcome } from './ending.ts'
import { described } from './side.ts'
import type { Trunk } from './trunk.ts'

/** How long the number may ring, and how long its echo is listened to, ms. */
const ringMs = 20_000
const listenMs = 3_000
const toneHertz = 1_000
/** Half of what three seconds of packets come to: an echo that began late is one. */
const enough = 50

const ill = (what: VoiceFinding['what'], found: string, mend: string): VoiceFinding => ({
  ...{ what, well: false, found, mend },
})

type Answered =
  | { readonly session: Session; readonly answer: string; readonly source: string }
  | { readonly why: string; readonly status: number }

const refuses = (): Answer => ({ status: 488 })

/** Calls a number, and resolves once it answered or will not. */
const ring = (agent: Agent, trunk: Trunk, number: string, offer: string): Promise<Answered> =>
  new Promise((resolve) => {
    let call: OutgoingCall | null = null
    const stop = agent.timers.after(ringMs, () => {
      call?.cancel()
      resolve({ why: `nobody answered within ${ringMs / 1_000} s`, status: 480 })
    })
    call = agent.invite(
      { ...trunk.ask(number, number), body: described(offer) },
      {
        progress: () => {},
        accepted: (response, session, flow) => {
          stop()
          resolve({ session, answer: response.body.toString(), source: flow.address })
        },
        refused: (outcome) => {
          stop()
          const { status, reason } = ofOutcome(outcome)
          resolve({ why: `${status} ${reason}`, status })
        },
        session: { offered: refuses, acknowledged: () => {}, info: () => ({ status: 200 }), ended: () => {} },
      },
    )
  })

const mendOf = (status: number): string => {
  if (status === 488 || status === 415) return 'Set codecs of the trunk to what the carrier takes (pcmu, pcma)'
  if (status === 404 || status === 484)
    return 'Check how the carrier wants numbers written: numbers and calling_code of the trunk'
  if (status === 403)
    return 'Ask the carrier whether this number may be called and shown, and set from_domain as it says'
  return 'Call it again, or another number that answers and sends back what it hears'
}

const listen = async (agent: Agent, call: MediaCall, leg: MediaLeg): Promise<VoiceFinding[]> => {
  await leg.play(toneHertz)
  await new Promise<void>((resolve) => agent.timers.after(listenMs, resolve))
  const stats = await call.stats()
  const [own] = stats.outcome === 'done' ? stats.value : []
  const [sent, received] = [own?.sent.packets ?? 0, own?.received.packets ?? 0]
  const found = `sent ${sent} packets to ${own?.remote ?? 'nowhere'}, ${received} came back${own?.dropped ? `, ${own.dropped} from unexpected addresses were dropped` : ''}`
  const codec: VoiceFinding = { what: 'codecs', well: true, found: `agreed on ${own?.codec ?? 'a codec'}`, mend: null }
  return received >= enough
    ? [codec, { what: 'media', well: true, found, mend: null }]
    : [
        codec,
        ill(
          'media',
          found,
          'Let UDP in on the ports of TRUNKLINE_RTP_PORTS, and see that TRUNKLINE_VOICE_PUBLIC_IP is the address that the carrier reaches us at',
        ),
      ]
}

/** Calls a number behind a trunk that answers and sends back what it hears: whether codecs agree, and audio goes both ways. */
export const tryEcho = async (
  trunk: Trunk,
  number: string,
  { agent, media }: { agent: Agent; media: MediaEngine },
): Promise<VoiceFinding[]> => {
  const opened = await media.openCall({
    connected: () => {},
    dtmf: () => {},
    silence: () => {},
    failed: () => {},
    dropped: () => {},
  })
  if (opened.outcome === 'refused') return [ill('media', opened.reason, 'Try again when fewer calls are under way')]
  const call = opened.value
  try {
    const leg = await call.addLeg({
      ...{ id: 'callee', kind: 'rtp', offer: null },
      ...{ codecs: trunk.settings.codecs, srtp: trunk.settings.srtp },
    })
    const offer = leg.outcome === 'done' ? await leg.value.describe() : leg
    if (leg.outcome === 'refused' || offer.outcome === 'refused') {
      const { reason } = offer.outcome === 'refused' ? offer : failed(500, 'no media')
      return [ill('media', reason, 'Widen TRUNKLINE_RTP_PORTS')]
    }
    const answered = await ring(agent, trunk, number, offer.value)
    if ('why' in answered) return [ill('codecs', `${number}: ${answered.why}`, mendOf(answered.status))]
    try {
      const taken = await leg.value.accept(answered.answer, answered.source)
      return taken.outcome === 'refused'
        ? [ill('codecs', taken.reason, mendOf(488))]
        : await listen(agent, call, leg.value)
    } finally {
      await answered.session.bye()
    }
  } finally {
    await call.close()
  }
}
