import type { MediaEngine } from '../../port.ts'
import type { VoiceFinding } from '../../voice-port.ts'
import type { Agent } from '../codec/agent/agent.ts'
import type { Outcome } from '../codec/agent/exchange.ts'
import { topVia } from '../codec/fields.ts'
import { tryEcho } from './echo.ts'
import type { Trunk } from './trunk.ts'

type What = VoiceFinding['what']

const well = (what: What, found: string): VoiceFinding => ({ what, well: true, found, mend: null })
const ill = (what: What, found: string, mend: string): VoiceFinding => ({ what, well: false, found, mend })

/**
 * Looks at a trunk from the name to the registration, then calls a number. It stops where nothing behind can be well.
 * @param echo a number that answers and sends back what it hears; null: none is called
 */
export const examine = async function* (
  trunk: Trunk,
  echo: string | null,
  parts: { agent: Agent; media: MediaEngine },
): AsyncIterable<VoiceFinding> {
  const { agent } = parts
  const { host, transport } = trunk.settings
  const addresses = await trunk.locate()
  if (addresses.length === 0) {
    yield ill(
      'dns',
      `${host} has no address`,
      'Correct the host name of the trunk, or the name servers of this machine',
    )
    return
  }
  yield well('dns', `${host} is ${addresses.join(', ')}`)
  if (transport === 'tls' && !agent.transports.has('TLS')) {
    yield ill('tls', 'no port of SIP over TLS is open here', 'Set TRUNKLINE_SIP_TLS_PORT and TRUNKLINE_TLS_CERT')
    return
  }

  const outcome = await trunk.options()
  if (outcome.outcome === 'failed') {
    if (transport === 'tls')
      yield ill(
        'tls',
        outcome.reason,
        'Check the certificate of the trunk: its name is host, or tls_server_name; its authority one of this machine’s, or tls_ca',
      )
    const unanswered = ill(
      'options',
      outcome.reason,
      `Check port and transport (${transport}), and that no firewall between keeps packets away; ask the carrier to allow our address`,
    )
    // Some carriers answer no OPTIONS and take calls: whether they do, a registration or a call says.
    const others = outcome.why === 'timeout' ? [...registrations(trunk), ...(await echoed(trunk, echo, parts))] : []
    const isReached = others.some(({ what, well }) => well && (what === 'registration' || what === 'media'))
    yield isReached ? { ...unanswered, isWarning: true } : unanswered
    yield* others
    return
  }
  if (transport === 'tls') yield well('tls', 'the certificate is good')
  yield options(outcome)
  yield mapping(outcome, agent)
  yield* registrations(trunk)
  yield* await echoed(trunk, echo, parts)
}

const echoed = async (trunk: Trunk, echo: string | null, parts: { agent: Agent; media: MediaEngine }) =>
  echo === null ? [] : await tryEcho(trunk, echo, parts)

type Answered = Extract<Outcome, { outcome: 'answered' }>

const options = ({ response: { status, reason }, flow }: Answered): VoiceFinding => {
  const found = `${flow.address}:${flow.port} answered ${status} ${reason}`
  if (status === 401 || status === 407)
    return ill('options', found, 'Set username and password as the carrier gave them')
  if (status === 403) return ill('options', found, 'Ask the carrier to allow our address, or set username and password')
  // Some do not know OPTIONS: that they answer is enough.
  return well('options', found)
}

/** Via comes back with the address that the trunk saw (RFC 3261, 18.2.1; RFC 3581). */
const mapping = ({ response, flow }: Answered, agent: Agent): VoiceFinding => {
  const { params } = topVia(response)
  const { host, port } = agent.transports.sentBy(flow.protocol)
  const seen = params.get('received') ?? host
  const seenPort = params.get('rport') || port
  if (seen !== host)
    return ill('nat', `we say that we are ${host}, and are seen as ${seen}`, `Set the advertised address to ${seen}`)
  if (flow.protocol === 'UDP' && Number(seenPort) !== port)
    return ill('nat', `we are seen at port ${seenPort} instead of ${port}`, `Forward port ${port} to this machine`)
  return well('nat', `we are seen as ${host}:${port}`)
}

const registrations = (trunk: Trunk): VoiceFinding[] => {
  const { registered, lastError } = trunk.status
  if (registered === null) return []
  return registered
    ? [well('registration', 'we are registered')]
    : [ill('registration', lastError ?? 'no answer yet', 'Check username, password and domain with the carrier')]
}
