import type { Metrics } from '../../platform/http/metrics.ts'
import type { ChatNetwork } from '../../ports/chat.ts'
import { maxCodeLabels } from './limits.ts'

/** Conditions of XMPP stanza errors (RFC 6120, 8.3.3). Strangers may send any other word. */
const conditions = new Set(
  `bad-request conflict feature-not-implemented forbidden gone internal-server-error item-not-found jid-malformed not-acceptable
  not-allowed not-authorized policy-violation recipient-unavailable redirect registration-required remote-server-not-found
  remote-server-timeout resource-constraint service-unavailable subscription-required undefined-condition unexpected-request
  not_on_network`.split(/\s+/),
)

export type ChatMetrics = {
  /** Measures sends of a connection from now on. */
  measure(connection: string, network: ChatNetwork): void
  /** Counts a message that the network rejected after it had accepted it. */
  refused(connection: string, code: string): void
}

export const makeChatMetrics = (metrics: Metrics): ChatMetrics => {
  const submits = metrics.counter('trunkline_msgapp_submits_total', 'Messages handed to a chat network by outcome', [
    'connection',
    'outcome',
  ])
  const refusals = metrics.counter('trunkline_msgapp_refusals_total', 'Messages that a chat network rejected', [
    'connection',
    'condition',
  ])
  const answered = metrics.histogram(
    'trunkline_msgapp_submit_duration_seconds',
    'Time until a chat network has accepted a message',
    ['connection'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  )
  const codes = new Set<string>()

  const conditionOf = (code: string): string => {
    if (conditions.has(code)) return code
    if (!/^\d{1,7}$/.test(code) || (!codes.has(code) && codes.size >= maxCodeLabels)) return 'other'
    codes.add(code)
    return code
  }
  const refused = (connection: string, code: string) => refusals({ connection, condition: conditionOf(code) })

  return {
    refused,
    measure: (connection, network) => {
      const send = network.send.bind(network)
      network.send = async (channel, message) => {
        const begun = performance.now()
        const sent = await send(channel, message)
        submits({ connection, outcome: sent.outcome === 'done' ? 'accepted' : sent.outcome })
        if (sent.outcome === 'done') answered({ connection }, (performance.now() - begun) / 1_000)
        // XMPP puts the condition before the server's words.
        if (sent.outcome === 'refused') refused(connection, sent.code ?? sent.reason.split(':', 1)[0] ?? '')
        return sent
      }
    },
  }
}
