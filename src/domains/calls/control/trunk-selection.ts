import type { VoiceTrunk } from '../../../ports/voice.ts'
import type { Connection } from '../../connections/ops.ts'
import { maxTrunksPerCall } from '../limits.ts'

export type TrunkConnection = Connection<'sip-trunk'>

/** Maps a stored connection to the gateway's settings. */
export const trunkOf = ({ id, name, settings }: TrunkConnection): VoiceTrunk => ({
  id,
  name,
  host: settings.host,
  port: settings.port ?? null,
  transport: settings.transport ?? 'udp',
  authority: settings.tls_ca ?? null,
  serverName: settings.tls_server_name ?? null,
  username: settings.username ?? null,
  password: settings.password ?? null,
  register: settings.register ?? false,
  addresses: settings.allowed_addresses ?? [],
  domain: settings.from_domain ?? null,
  numbers: settings.numbers ?? 'plus',
  callingCode: settings.calling_code ?? null,
  codecs: settings.codecs ?? ['pcmu', 'pcma'],
  srtp: settings.srtp ?? 'never',
  pingSeconds: settings.ping_seconds ?? 30,
  channels: settings.channels ?? null,
})

/**
 * Returns the trunks for a number, best first: longest matching prefix, then priority. Sandbox trunks serve only
 * sandbox accounts, and only if no other trunk matches.
 * @param number E.164
 */
export const routesOf = (trunks: readonly TrunkConnection[], number: string, isSandbox: boolean): readonly string[] => {
  const digits = number.slice(1)
  const fitting = trunks.flatMap(({ id, settings: { prefixes = [], priority = 100, sandbox = false } }) => {
    const lengths = prefixes.filter((prefix) => digits.startsWith(prefix)).map((prefix) => prefix.length)
    const length = prefixes.length === 0 ? 0 : Math.max(-1, ...lengths)
    return length < 0 ? [] : [{ id, length, priority, sandbox }]
  })
  const real = fitting.filter(({ sandbox }) => !sandbox)
  return (real.length > 0 || !isSandbox ? real : fitting)
    .toSorted((a, b) => b.length - a.length || a.priority - b.priority)
    .slice(0, maxTrunksPerCall)
    .map(({ id }) => id)
}
