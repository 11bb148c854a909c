import type { ReplyOf } from '../api/client.ts'
import { type Query, useQuery } from '../api/query.ts'
import { may, session } from '../api/session.ts'

/** The telephone of the page while the sandbox is on. */
export const handsetNumber = '+447700900123'

type Channel = ReplyOf<'GET /open/sms/channels'>['channels'][number]
type Message = ReplyOf<'GET /open/sms/messages'>['messages'][number]
type Call = ReplyOf<'GET /open/voip/call-history'>['cdrs'][number]

export type Handset = ReplyOf<'GET /sandbox/handsets/:number'>

/** Progress of the account, from its data alone: a reload and another browser show the same. */
export type Progress = {
  readonly isLoading: boolean
  readonly failed: Query<unknown> | undefined
  /** The account reaches handsets of the sandbox. */
  readonly isSandbox: boolean
  readonly handset: Handset | undefined
  /** The number that the examples use. */
  readonly channel: Channel | undefined
  readonly sent: readonly Message[]
  readonly received: Message | undefined
  readonly call: Call | undefined
  readonly hasEvent: boolean
}

const newest = { results_per_page: 1 }

export const useProgress = (): Progress => {
  const isSandboxOn = session.value?.installation.sandbox === true
  const channels = useQuery('GET /open/sms/channels', { live: ['number'] })
  // Developers without the inbox see no texts: their steps say so.
  const mayRead = may('inbox')
  const sent = useQuery('GET /open/sms/messages', {
    query: { direction: 'outbound', results_per_page: 20 },
    enabled: mayRead,
    live: ['sms'],
  })
  const received = useQuery('GET /open/sms/messages', {
    query: { direction: 'inbound', ...newest },
    enabled: mayRead,
    live: ['sms'],
  })
  const calls = useQuery('GET /open/voip/call-history', { query: newest, live: ['call'] })
  const contacts = useQuery('GET /open/events', { query: { name: 'contact.created', ...newest }, live: ['contact'] })
  const endpoints = useQuery('GET /open/webhooks/endpoints', {})
  const handset = useQuery('GET /sandbox/handsets/:number', {
    params: { number: handsetNumber },
    enabled: isSandboxOn,
    live: ['sms', 'call'],
  })
  const all = [channels, calls, contacts, endpoints, ...(mayRead ? [sent, received] : [])]
  return {
    isLoading: all.some(({ data }) => data === undefined) || (isSandboxOn && !handset.data && !handset.error),
    failed: all.find(({ data, error }) => data === undefined && error !== null),
    // An account that is no sandbox account has no handsets.
    isSandbox: isSandboxOn && !(handset.error && !handset.data),
    handset: handset.data,
    channel: channels.data?.channels.find((each) => each.enabled && each.supports_sms_out),
    sent: sent.data?.messages ?? [],
    received: received.data?.messages[0],
    call: calls.data?.cdrs[0],
    hasEvent: (contacts.data?.events.length ?? 0) > 0 || (endpoints.data?.endpoints.length ?? 0) > 0,
  }
}
