import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import type { Readable } from 'node:stream'
import type { Config } from '../config.ts'
import { startEmbedded } from '../connectors/media/embedded/engine.ts'
import { repair, summarise } from '../connectors/media/recording/wav.ts'
import { startRtpengineEngine } from '../connectors/media/rtpengine/engine.ts'
import type { MediaEngine, MediaRecording } from '../connectors/port.ts'
import { type GatewaySettings, startGateway } from '../connectors/sip/gateway/gateway.ts'
import type { VoiceGateway } from '../connectors/voice-port.ts'

const any = new Set(['0.0.0.0', '::'])

/** Where SIP and audio are bound. */
const boundTo = ({ voiceHost, host }: Config): string => voiceHost ?? (host === 'localhost' ? '127.0.0.1' : host)

/** The address that others are told. */
const toldOf = (config: Config): string => {
  const bound = boundTo(config)
  if (config.voicePublicIp !== null) return config.voicePublicIp
  if (!any.has(bound)) return bound
  const outer = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  return outer?.address ?? '127.0.0.1'
}

const startMedia = (config: Config, fault: (reason: string) => void): Promise<MediaEngine> => {
  if (config.mediaEngine === 'rtpengine')
    return startRtpengineEngine({
      ...config.rtpengine,
      dtmf: config.rtpengineKeys,
      recordings: config.rtpengineRecordings,
      calls: config.mediaCalls,
    })
  const { rtpPorts, webrtcPorts, mediaWorkers, mediaCalls } = config
  return startEmbedded({
    ...{ bind: boundTo(config), advertised: toldOf(config), rtpPorts, webrtcPorts, callsPerWorker: mediaCalls, fault },
    ...(mediaWorkers === null ? {} : { workers: mediaWorkers }),
  })
}

/**
 * Makes what a killed process left of a recording a whole WAV file again. It wants no engine, and asking twice changes nothing.
 * @returns null when there is no such file, or it is no recording
 */
export const repairRecording = (path: string): Promise<MediaRecording | null> => repair(path).catch(() => null)

/** Seconds, bytes and checksum of a recording, from its content. */
export const summariseRecording: (recording: Readable) => Promise<MediaRecording> = summarise

export type Drivers = { readonly media: MediaEngine; readonly gateway: VoiceGateway }

/** Opens the ports of voice. @param host by which browsers reach us @throws Error when a port is taken, or rtpengine does not answer */
export const startDrivers = async (
  config: Config,
  given: Pick<GatewaySettings, 'desk' | 'secret' | 'fault'>,
  host: string,
): Promise<Drivers> => {
  const { sipPort, sipTlsPort, tlsKey, tlsCert, sandbox } = config
  const tls =
    sipTlsPort !== null && tlsKey !== null && tlsCert !== null
      ? { port: sipTlsPort, key: readFileSync(tlsKey, 'utf8'), cert: readFileSync(tlsCert, 'utf8') }
      : null
  const told = toldOf(config)
  const media = await startMedia(config, (reason) => given.fault(new Error(reason)))
  try {
    const gateway = await startGateway({
      ...{ ...given, media, bind: boundTo(config), port: sipPort ?? (sandbox ? 0 : 5060), domain: host, realm: host },
      ...(told === boundTo(config) ? {} : { advertised: told }),
      ...(tls ? { tls } : {}),
    })
    return { media, gateway }
  } catch (error) {
    await media.close()
    throw error
  }
}
