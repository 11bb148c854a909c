import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import type { SipSession, SipSessionEvents } from '@trunkline/sip/dialog/sip-session.ts'
import { contentTypeOf } from '@trunkline/sip/fields.ts'
import type { SipMessage } from '@trunkline/sip/message.ts'
import type { ResponseOptions } from '@trunkline/sip/response.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import type { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'

/** Body of a message, forwarded unchanged: both ends of the media belong to the platform. */
const bodyOf = (message: SipMessage): { body?: NonNullable<ResponseOptions['body']> } =>
  message.body.length === 0
    ? {}
    : { body: { type: contentTypeOf(message) ?? 'application/sdp', content: message.body } }

/** Forwards events of one session to the other. */
const relay = (other: () => SipSession | null): SipSessionEvents => {
  const passed = async (method: 'reinvite' | 'info', message: SipMessage): Promise<ResponseOptions> => {
    const outcome = await other()?.[method](bodyOf(message))
    if (outcome?.outcome !== 'answered') return { status: 500 }
    return { status: outcome.response.status, ...bodyOf(outcome.response) }
  }
  return {
    // A request without an offer would be answered in the ACK, which this relay does not handle.
    offered: (request) => (request.body.length === 0 ? { status: 488 } : passed('reinvite', request)),
    acknowledged: () => {},
    info: (request) => passed('info', request),
    ended: () => void other()?.bye(),
  }
}

/** Relays a call to a number of the platform back to it, like a carrier does for any customer. */
export const relayCall = (agent: UserAgent, incoming: IncomingCall, ask: RequestOptions): void => {
  let caller: SipSession | null = null
  let callee: SipSession | null = null
  const outgoing = agent.invite(
    { ...ask, ...bodyOf(incoming.invite) },
    {
      progress: (response) => incoming.ring({ status: response.status, ...bodyOf(response) }),
      accepted: (response, session) => {
        callee = session
        caller = incoming.accept(
          bodyOf(response),
          relay(() => callee),
        )
        if (!caller) void session.bye()
      },
      refused: (outcome) => incoming.refuse({ status: outcome.outcome === 'answered' ? outcome.response.status : 480 }),
      session: relay(() => caller),
    },
  )
  incoming.events = { cancelled: () => outgoing.cancel() }
}
