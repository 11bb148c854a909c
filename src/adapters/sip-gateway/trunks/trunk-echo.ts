import type { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'
import type { MediaCall, MediaLeg } from '../../../ports/media.ts'
import type { VoiceFinding } from '../../../ports/voice.ts'
import type { Registrar } from '../browsers/registrar.ts'
import { Forking, type ForkingSettings } from '../calls/forking.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { echoListenMs, echoRingSeconds, minEchoPackets } from '../limits.ts'
import type { Trunk } from './trunk.ts'
import type { TrunkRegistry } from './trunk-registry.ts'

const toneHertz = 1_000

const failed = (what: VoiceFinding['what'], found: string, mend: string): VoiceFinding => ({
  ...{ what, well: false, found, mend },
})

const remedyFor = (status: number): string => {
  if (status === 488 || status === 415) return 'Set codecs of the trunk to what the carrier takes (pcmu, pcma)'
  if (status === 404 || status === 484)
    return 'Check how the carrier wants numbers written: numbers and calling_code of the trunk'
  if (status === 403)
    return 'Ask the carrier whether this number may be called and shown, and set from_domain as it says'
  if (status === 500 || status === 503)
    return 'Call it again when fewer calls are under way; widen TRUNKLINE_RTP_PORTS where no port is free'
  return 'Call it again, or another number that answers and sends back what it hears'
}

const measureEcho = async (agent: UserAgent, call: MediaCall, leg: MediaLeg): Promise<VoiceFinding[]> => {
  await leg.playTone(toneHertz)
  await new Promise<void>((resolve) => agent.timers.after(echoListenMs, resolve))
  const stats = await call.stats()
  const [own] = stats.outcome === 'done' ? stats.value : []
  const [sent, received] = [own?.sent.packets ?? 0, own?.received.packets ?? 0]
  const found = `sent ${sent} packets to ${own?.remote ?? 'nowhere'}, ${received} came back${own?.dropped ? `, ${own.dropped} from unexpected addresses were dropped` : ''}`
  const codec: VoiceFinding = { what: 'codecs', well: true, found: `agreed on ${own?.codec ?? 'a codec'}`, mend: null }
  return received >= minEchoPackets
    ? [codec, { what: 'media', well: true, found, mend: null }]
    : [
        codec,
        failed(
          'media',
          found,
          'Let UDP in on the ports of TRUNKLINE_RTP_PORTS, and see that TRUNKLINE_VOICE_PUBLIC_IP is the address that the carrier reaches us at',
        ),
      ]
}

/** Components of the gateway for the test call. */
export type EchoTestDeps = {
  readonly gateway: GatewayDeps
  readonly registrar: Registrar
  readonly trunks: TrunkRegistry
}

const noEvents: Pick<ForkingSettings, 'side' | 'events' | 'headers'> = {
  side: { ended: () => {}, note: () => {}, undescribed: () => {} },
  events: { ringing: () => {}, early: () => {}, dialled: () => {} },
  headers: [],
}

/**
 * Calls a number behind a trunk that answers and returns its audio. Checks that codecs agree and audio flows in both
 * directions.
 */
export const testEcho = async (trunk: Trunk, number: string, deps: EchoTestDeps): Promise<VoiceFinding[]> => {
  const { agent, media } = deps.gateway
  const opened = await media.openCall({
    connected: () => {},
    dtmf: () => {},
    silence: () => {},
    failed: () => {},
    dropped: () => {},
  })
  if (opened.outcome === 'refused') return [failed('media', opened.reason, 'Try again when fewer calls are under way')]
  const call = opened.value
  try {
    const { id, codecs } = trunk.settings
    const plan = { call: 'echo', callerId: number, targets: [{ trunk: id, number }], ringSeconds: echoRingSeconds }
    const found = await new Forking({ ...deps, ...noEvents, media: call, caller: null, plan, codecs }).run()
    if ('ending' in found) {
      const { status, reason } = found.ending
      return [failed('codecs', `${number}: ${status} ${reason}`, remedyFor(status))]
    }
    try {
      return await measureEcho(agent, call, found.leg.media)
    } finally {
      found.release()
      await found.leg.session?.bye()
    }
  } finally {
    await call.close()
  }
}
