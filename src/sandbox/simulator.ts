import { invalid, unavailable } from '../http/problem.ts'

/** What a handset saw, as the simulator keeps it. */
export type Item = { direction: 'inbound' | 'outbound'; peer: string; text: string; at: string; carrier_id?: string }

/** What a handset saw on the messaging app. `lines`: the platform's numbers that have to do with it. */
export type ChatItem = Omit<Item, 'carrier_id'> & {
  id: string
  lines: string[]
  group?: string
  media?: string
  digest?: string
  pin?: { latitude: number; longitude: number }
  read?: boolean
  removed?: boolean
}

/** What a handset can do on the messaging app (simulator/chat/control.ts). */
export type ChatDeed = 'msgapp' | 'read' | 'msgapp-calls' | 'edit' | 'react' | 'group' | 'leave' | 'pair'

/** The sandbox carriers, reached over their control socket. */
export type Simulator = {
  handset(number: string): Promise<{ sms: Item[]; msgapp: ChatItem[] }>
  behave(number: string, behaviour: Record<string, unknown>): Promise<void>
  send(number: string, to: string, text: string): Promise<void>
  /** A handset does something on the messaging app. Null when the network says that it cannot. */
  chat(number: string, deed: ChatDeed, body: object): Promise<{ id?: string; read?: number } | null>
  /** Says which numbers are the platform's (true) and which are no longer: at most 1,000 at a time. */
  provision(lines: Record<string, boolean>): Promise<void>
}

/** @param address of the control interface, and the token that it wants */
export const makeSimulator = (address: () => { port: number; token: string } | null): Simulator => {
  const ask = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const at = address()
    const down = 'The sandbox carriers are not running'
    if (!at) return unavailable(down, 'sandbox_down')
    const answer = await fetch(`http://127.0.0.1:${at.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${at.token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(15_000),
    }).catch(() => null)
    return answer ?? unavailable(down, 'sandbox_down')
  }
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await ask(method, path, body)
    if (!answer.ok) unavailable('The sandbox carriers are not running', 'sandbox_down')
    // The simulator is ours and answers in the shapes of its control.ts.
    return (await answer.json()) as T
  }
  const path = (number: string) => `/handsets/${encodeURIComponent(number)}`
  return {
    handset: (number) => call('GET', path(number)),
    behave: async (number, behaviour) => void (await call('PUT', path(number), behaviour)),
    send: async (number, to, text) => void (await call('POST', `${path(number)}/sms`, { to, text })),
    chat: async (number, deed, body) => {
      const answer = await ask('POST', `${path(number)}/${deed}`, body)
      // Of its control.ts again: what was done, or why not.
      const said = (await answer.json()) as { id?: string; read?: number; error?: string }
      if (answer.status === 400) invalid(said.error ?? 'the sandbox did not take it')
      return answer.ok ? said : null
    },
    provision: async (lines) => void (await call('PUT', '/lines', { lines })),
  }
}
