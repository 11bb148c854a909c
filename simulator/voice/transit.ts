import type { Agent } from '../../src/connectors/sip/codec/agent/agent.ts'
import type { Ask } from '../../src/connectors/sip/codec/agent/ask.ts'
import type { IncomingCall } from '../../src/connectors/sip/codec/dialog/incoming.ts'
import type { Session, SessionEvents } from '../../src/connectors/sip/codec/dialog/session.ts'
import { contentTypeOf } from '../../src/connectors/sip/codec/fields.ts'
import type { SipMessage } from '../../src/connectors/sip/codec/message.ts'
import type { Answer } from '../../src/connectors/sip/codec/reply.ts'

/** What a message carries, handed on as it is: both ends of the media are the platform's. */
const bodyOf = (message: SipMessage): { body?: NonNullable<Answer['body']> } =>
  message.body.length === 0
    ? {}
    : { body: { type: contentTypeOf(message) ?? 'application/sdp', content: message.body } }

/** What happens in one session is asked of the other. */
const relay = (other: () => Session | null): SessionEvents => {
  const passed = async (method: 'reinvite' | 'info', message: SipMessage): Promise<Answer> => {
    const outcome = await other()?.[method](bodyOf(message))
    if (outcome?.outcome !== 'answered') return { status: 500 }
    return { status: outcome.response.status, ...bodyOf(outcome.response) }
  }
  return {
    // Who asks for an offer of ours answers it in the ACK, which nobody waits for here.
    offered: (request) => (request.body.length === 0 ? { status: 488 } : passed('reinvite', request)),
    acknowledged: () => {},
    info: (request) => passed('info', request),
    ended: () => void other()?.bye(),
  }
}

/** Carries a call to a number that is the platform's own: back to it, as a carrier does with any customer's. */
export const carryBack = (agent: Agent, incoming: IncomingCall, ask: Ask): void => {
  let caller: Session | null = null
  let callee: Session | null = null
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
