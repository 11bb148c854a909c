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

/** A call as its handset saw it. */
export type CallItem = {
  call_id: string
  sip_call_id: string
  direction: 'inbound' | 'outbound'
  peer: string
  at: string
  state: 'ringing' | 'answered' | 'completed' | 'busy' | 'no_answer' | 'rejected' | 'canceled' | 'failed'
  status: number
  answered_at?: string
  ended_at?: string
  digits: string
  tones: { hertz: number; from: number; seconds: number }[]
}

/** What a handset can do on the messaging app, and the phone of a channel (simulator/chat/control.ts). */
export type ChatDeed =
  | 'msgapp'
  | 'read'
  | 'msgapp-calls'
  | 'edit'
  | 'react'
  | 'group'
  | 'leave'
  | 'pair'
  | 'phone-writes'
  | 'phone-calls'

/** A file that the simulator keeps for its handsets; the id is its SHA-256. */
export type SimulatorFile = { id: string; mimeType: string; size: number }

/** The sandbox carriers, reached over their control socket. */
export type Simulator = {
  handset(number: string): Promise<{ sms: Item[]; msgapp: ChatItem[]; calls: CallItem[] }>
  behave(number: string, behaviour: Record<string, unknown>): Promise<void>
  send(number: string, to: string, text: string): Promise<void>
  /** A handset calls a number. @returns the call's id */
  dial(number: string, to: string, how: { seconds?: number | undefined; digits?: string | undefined }): Promise<string>
  /** Ends a call of a handset's, if it is still under way. */
  hangUp(number: string, call: string): Promise<void>
  /** A handset does something on the messaging app. Null when the network says that it cannot. */
  chat(number: string, deed: ChatDeed, body: object): Promise<{ id?: string; read?: number } | null>
  /** Keeps a file for a handset to send. A body that breaks off ends in the 503 Problem too. */
  keep(body: AsyncIterable<Buffer>, mimeType: string): Promise<SimulatorFile>
  /** Says which numbers are the platform's for texts and for calls, and which are no longer: at most 1,000 at a time. */
  provision(lines: readonly { number: string; texts: boolean; calls: boolean }[]): Promise<void>
}

/** @param address of the control interface, and the token that it wants */
export const makeSimulator = (address: () => { port: number; token: string } | null): Simulator => {
  const reach = async (
    method: string,
    path: string,
    given: { type: string; body: string | AsyncIterable<Buffer> } | null,
  ): Promise<Response> => {
    const at = address()
    const down = 'The sandbox carriers are not running'
    if (!at) return unavailable(down, 'sandbox_down')
    const answer = await fetch(`http://127.0.0.1:${at.port}${path}`, {
      method,
      headers: { authorization: `Bearer ${at.token}`, ...(given ? { 'content-type': given.type } : {}) },
      ...(given ? { body: given.body, duplex: 'half' } : {}),
      signal: AbortSignal.timeout(15_000),
    }).catch(() => null)
    return answer ?? unavailable(down, 'sandbox_down')
  }
  const ask = (method: string, path: string, body?: unknown) =>
    reach(method, path, body ? { type: 'application/json', body: JSON.stringify(body) } : null)
  const read = async <T>(answer: Response): Promise<T> => {
    if (!answer.ok) unavailable('The sandbox carriers are not running', 'sandbox_down')
    // The simulator is ours and answers in the shapes of its control.ts.
    return (await answer.json()) as T
  }
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
    read(await ask(method, path, body))
  const path = (number: string) => `/handsets/${encodeURIComponent(number)}`
  return {
    handset: (number) => call('GET', path(number)),
    behave: async (number, behaviour) => void (await call('PUT', path(number), behaviour)),
    send: async (number, to, text) => void (await call('POST', `${path(number)}/sms`, { to, text })),
    dial: async (number, to, how) =>
      (await call<{ call_id: string }>('POST', `${path(number)}/calls`, { to, ...how })).call_id,
    hangUp: async (number, call_id) => {
      const answer = await ask('POST', `${path(number)}/hang-up`, { call_id })
      if (answer.status !== 404) await read(answer)
    },
    chat: async (number, deed, body) => {
      const answer = await ask('POST', `${path(number)}/${deed}`, body)
      // Of its control.ts again: what was done, or why not.
      const said = (await answer.json()) as { id?: string; read?: number; error?: string }
      if (answer.status === 400) invalid(said.error ?? 'the sandbox did not take it')
      return answer.ok ? said : null
    },
    keep: async (body, type) => read(await reach('POST', '/files', { type, body })),
    provision: async (lines) => {
      const by = (what: 'texts' | 'calls') => Object.fromEntries(lines.map((line) => [line.number, line[what]]))
      await call('PUT', '/lines', { lines: by('texts'), calls: by('calls') })
    },
  }
}
