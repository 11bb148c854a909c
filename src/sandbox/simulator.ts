import { unavailable } from '../http/problem.ts'

/** What a handset saw, as the simulator keeps it. */
export type Item = { direction: 'inbound' | 'outbound'; peer: string; text: string; at: string; carrier_id?: string }

/** The sandbox carriers, reached over their control socket. */
export type Simulator = {
  handset(number: string): Promise<{ sms: Item[] }>
  behave(number: string, behaviour: Record<string, unknown>): Promise<void>
  send(number: string, to: string, text: string): Promise<void>
  /** Says which numbers are the platform's (true) and which are no longer: at most 1,000 at a time. */
  provision(lines: Record<string, boolean>): Promise<void>
}

/** @param address of the control interface, and the token that it wants */
export const makeSimulator = (address: () => { port: number; token: string } | null): Simulator => {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const at = address()
    const down = 'The sandbox carriers are not running'
    if (!at) return unavailable(down, 'sandbox_down')
    const answer = await fetch(`http://127.0.0.1:${at.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${at.token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(5_000),
    }).catch(() => null)
    if (!answer?.ok) return unavailable(down, 'sandbox_down')
    // The simulator is ours and answers in the shapes of its control.ts.
    return (await answer.json()) as T
  }
  const path = (number: string) => `/handsets/${encodeURIComponent(number)}`
  return {
    handset: (number) => call('GET', path(number)),
    behave: async (number, behaviour) => void (await call('PUT', path(number), behaviour)),
    send: async (number, to, text) => void (await call('POST', `${path(number)}/sms`, { to, text })),
    provision: async (lines) => void (await call('PUT', '/lines', { lines })),
  }
}
