import { topVia } from '@trunkline/sip/fields.ts'
import type { RequestOutcome } from '@trunkline/sip/user-agent/uac.ts'
import type { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'
import type { VoiceFinding } from '../../../ports/voice.ts'
import type { Trunk } from './trunk.ts'
import { type EchoTestDeps, testEcho } from './trunk-echo.ts'

type FindingKind = VoiceFinding['what']

const passed = (what: FindingKind, found: string): VoiceFinding => ({ what, well: true, found, mend: null })
const failed = (what: FindingKind, found: string, mend: string): VoiceFinding => ({ what, well: false, found, mend })

/**
 * Checks a trunk from its host name to its registration, then calls a number. Stops at a fault that would fail all
 * later checks.
 * @param echo a number that answers and returns its audio; null: no call
 */
export const diagnoseTrunk = async function* (
  trunk: Trunk,
  echo: string | null,
  deps: EchoTestDeps,
): AsyncIterable<VoiceFinding> {
  const { agent } = deps.gateway
  const { host, transport } = trunk.settings
  const addresses = await trunk.locate()
  if (addresses.length === 0) {
    yield failed(
      'dns',
      `${host} has no address`,
      'Correct the host name of the trunk, or the name servers of this machine',
    )
    return
  }
  yield passed('dns', `${host} is ${addresses.join(', ')}`)
  if (transport === 'tls' && !agent.transports.has('TLS')) {
    yield failed('tls', 'no port of SIP over TLS is open here', 'Set TRUNKLINE_SIP_TLS_PORT and TRUNKLINE_TLS_CERT')
    return
  }

  const outcome = await trunk.options()
  if (outcome.outcome === 'failed') {
    if (transport === 'tls')
      yield failed(
        'tls',
        outcome.reason,
        'Check the certificate of the trunk: its name is host, or tls_server_name; its authority one of this machine’s, or tls_ca',
      )
    const unanswered = failed(
      'options',
      outcome.reason,
      `Check port and transport (${transport}), and that no firewall between keeps packets away; ask the carrier to allow our address`,
    )
    // Some carriers take calls but answer no OPTIONS: a registration or a call can still prove that the trunk is
    // reachable.
    const others =
      outcome.why === 'timeout' ? [...registrationFindings(trunk), ...(await echoFindings(trunk, echo, deps))] : []
    const isReached = others.some(({ what, well }) => well && (what === 'registration' || what === 'media'))
    yield isReached ? { ...unanswered, isWarning: true } : unanswered
    yield* others
    return
  }
  if (transport === 'tls') yield passed('tls', 'the certificate is good')
  yield optionsFinding(outcome)
  yield natFinding(outcome, agent)
  yield* registrationFindings(trunk)
  yield* await echoFindings(trunk, echo, deps)
}

const echoFindings = async (trunk: Trunk, echo: string | null, deps: EchoTestDeps) =>
  echo === null ? [] : await testEcho(trunk, echo, deps)

type AnsweredOutcome = Extract<RequestOutcome, { outcome: 'answered' }>

const optionsFinding = ({ response: { status, reason }, flow }: AnsweredOutcome): VoiceFinding => {
  const found = `${flow.address}:${flow.port} answered ${status} ${reason}`
  if (status === 401 || status === 407)
    return failed('options', found, 'Set username and password as the carrier gave them')
  if (status === 403)
    return failed('options', found, 'Ask the carrier to allow our address, or set username and password')
  // Some carriers do not support OPTIONS, so a refusal counts as a response too.
  return passed('options', found)
}

/** The response repeats our Via with the address that the trunk saw (RFC 3261, 18.2.1; RFC 3581). */
const natFinding = ({ response, flow }: AnsweredOutcome, agent: UserAgent): VoiceFinding => {
  const { params } = topVia(response)
  const { host, port } = agent.transports.sentBy(flow.protocol)
  const seen = params.get('received') ?? host
  const seenPort = params.get('rport') || port
  if (seen !== host)
    return failed('nat', `we say that we are ${host}, and are seen as ${seen}`, `Set the advertised address to ${seen}`)
  if (flow.protocol === 'UDP' && Number(seenPort) !== port)
    return failed('nat', `we are seen at port ${seenPort} instead of ${port}`, `Forward port ${port} to this machine`)
  return passed('nat', `we are seen as ${host}:${port}`)
}

const registrationFindings = (trunk: Trunk): VoiceFinding[] => {
  const { registered, lastError } = trunk.status
  if (registered === null) return []
  return registered
    ? [passed('registration', 'we are registered')]
    : [failed('registration', lastError ?? 'no answer yet', 'Check username, password and domain with the carrier')]
}
