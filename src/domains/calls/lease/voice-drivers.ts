import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import type { Readable } from 'node:stream'
import { startEmbedded } from '../../../adapters/media/embedded/embedded-engine.ts'
import { isLoopback } from '../../../adapters/media/embedded/own-addresses.ts'
import { repairWav, summariseWav } from '../../../adapters/media/recording/wav.ts'
import { type GatewaySettings, startGateway } from '../../../adapters/sip-gateway/gateway.ts'
import type { Config } from '../../../config.ts'
import type { MediaEngine, MediaRecording } from '../../../ports/media.ts'
import type { VoiceGateway } from '../../../ports/voice.ts'

const wildcardAddresses = new Set(['0.0.0.0', '::'])

/** Returns the address that SIP and media bind to. */
const bindAddress = ({ voiceHost, host }: Config): string => voiceHost ?? (host === 'localhost' ? '127.0.0.1' : host)

/** Returns the address that peers see. */
const advertisedAddress = (config: Config): string => {
  const bound = bindAddress(config)
  if (config.voicePublicIp !== null) return config.voicePublicIp
  if (!wildcardAddresses.has(bound)) return bound
  const outer = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  return outer?.address ?? '127.0.0.1'
}

/** Whether the server is on loopback, for this machine only. Firefox then needs another address of the machine. */
const isForOwnMachine = (config: Config): boolean => config.voicePublicIp === null && isLoopback(bindAddress(config))

const isUnspecified = (address: string): boolean => address === '0.0.0.0' || address === '::'

const startMedia = async (config: Config, fault: (reason: string) => void): Promise<MediaEngine> => {
  const { rtpPorts, webrtcPorts, mediaWorkers, mediaCalls } = config
  const silenceSeconds = config.mediaTimeoutSeconds || Number.POSITIVE_INFINITY
  if (config.mediaEngine === 'rtpengine') {
    const { startRtpengineEngine } = await import('../../../adapters/media/rtpengine/rtpengine-engine.ts')
    // rtpengine sends keys to this address, so it reaches it.
    const { address } = config.rtpengineKeys
    const processor = await startEmbedded({
      ...{ bind: address, advertised: isUnspecified(address) ? advertisedAddress(config) : address },
      ...{ rtpPorts, webrtcPorts, callsPerWorker: mediaCalls, silenceSeconds, fault },
      ...(mediaWorkers === null ? {} : { workers: mediaWorkers }),
    })
    return startRtpengineEngine({
      ...config.rtpengine,
      processor,
      dtmf: config.rtpengineKeys,
      recordings: config.rtpengineRecordings,
      calls: config.mediaCalls,
      silenceSeconds,
    })
  }
  return startEmbedded({
    ...{ bind: bindAddress(config), advertised: advertisedAddress(config), offersOwnAddress: isForOwnMachine(config) },
    ...{ rtpPorts, webrtcPorts, callsPerWorker: mediaCalls, silenceSeconds, fault },
    ...(mediaWorkers === null ? {} : { workers: mediaWorkers }),
  })
}

/**
 * Repairs the WAV file that a killed process left. Needs no engine, and is idempotent.
 * @returns null if the file does not exist or is not a recording
 */
export const repairRecording = (path: string): Promise<MediaRecording | null> => repairWav(path).catch(() => null)

/** Returns seconds, bytes and checksum of a recording's content. */
export const summariseRecording: (recording: Readable) => Promise<MediaRecording> = summariseWav

export type VoiceDrivers = { readonly media: MediaEngine; readonly gateway: VoiceGateway }

/** Opens the voice ports. @param host by which browsers reach us
 *  @throws Error if a port is in use, or rtpengine does not answer */
export const startVoiceDrivers = async (
  config: Config,
  settings: Pick<GatewaySettings, 'callControl' | 'secret' | 'fault' | 'trunkChanged'>,
  host: string,
): Promise<VoiceDrivers> => {
  const { sipPort, sipTlsPort, tlsKey, tlsCert, sandbox } = config
  const tls =
    sipTlsPort !== null && tlsKey !== null && tlsCert !== null
      ? { port: sipTlsPort, key: readFileSync(tlsKey, 'utf8'), cert: readFileSync(tlsCert, 'utf8') }
      : null
  const advertised = advertisedAddress(config)
  const media = await startMedia(config, (reason) => settings.fault(new Error(reason)))
  try {
    const gateway = await startGateway({
      ...{
        ...settings,
        media,
        bind: bindAddress(config),
        port: sipPort ?? (sandbox ? 0 : 5060),
        domain: host,
        realm: host,
      },
      ...(advertised === bindAddress(config) ? {} : { advertised }),
      ...(tls ? { tls } : {}),
    })
    return { media, gateway }
  } catch (error) {
    await media.close()
    throw error
  }
}
