import type { Connection } from '../connections/ops.ts'
import type { VoiceTrunk } from '../connectors/voice-port.ts'

export type TrunkConnection = Connection<'sip-trunk'>

/** A stored connection as the gateway runs it. */
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

/** A caller has hung up long before more of them have failed. */
const mostRoutes = 4

/**
 * The trunks that a number may go to, best first: those of its longest prefix, among them by priority. Those of the sandbox
 * only for sandbox accounts, where no other one fits.
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
    .slice(0, mostRoutes)
    .map(({ id }) => id)
}
