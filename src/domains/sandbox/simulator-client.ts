import { refuse } from '../../platform/http/problem.ts'
import { simulatorTimeoutMs } from './limits.ts'
import { refusals } from './refusals.ts'

/** A message as the simulator stored it for a handset. */
export type SmsItem = { direction: 'inbound' | 'outbound'; peer: string; text: string; at: string; carrier_id?: string }

/** A messaging-app message of a handset. `lines`: the platform numbers involved. */
export type ChatItem = Omit<SmsItem, 'carrier_id'> & {
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

/** Messaging-app actions of a handset or of a channel's phone (simulator/chat/chat-control.ts). */
export type ChatAction =
  | 'msgapp'
  | 'read'
  | 'msgapp-calls'
  | 'edit'
  | 'react'
  | 'group'
  | 'leave'
  | 'pair'
  | 'enter'
  | 'phone-writes'
  | 'phone-calls'

/** A file that the simulator stores for handsets; the id is its SHA-256. */
export type SimulatorFile = { id: string; mimeType: string; size: number }

/** Client of the sandbox carriers' control interface. */
export type SimulatorClient = {
  handset(number: string): Promise<{ sms: SmsItem[]; msgapp: ChatItem[]; calls: CallItem[] }>
  configure(number: string, behaviour: Record<string, unknown>): Promise<void>
  send(number: string, to: string, text: string): Promise<void>
  /** Places a call from a handset. @returns the call's id */
  dial(number: string, to: string, how: { seconds?: number | undefined; digits?: string | undefined }): Promise<string>
  /** Presses keys in a call of a handset. @returns false when it is not answered or over */
  press(number: string, call: string, digits: string): Promise<boolean>
  /** Ends a call of a handset if it is active. */
  hangUp(number: string, call: string): Promise<void>
  /** Performs a messaging-app action of a handset; null when the network refuses it. */
  chatAction(number: string, deed: ChatAction, body: object): Promise<{ id?: string; read?: number } | null>
  /** Stores a file for a handset to send. An aborted body also raises the 503 Problem. */
  storeFile(body: AsyncIterable<Buffer>, mimeType: string): Promise<SimulatorFile>
  /** Announces which numbers the platform uses for SMS and for calls, or no longer: at most 1,000 at a time. */
  provision(lines: readonly { number: string; texts: boolean; calls: boolean }[]): Promise<void>
}

type Answer = { readonly status: number; readonly text: string }

/** An import by name would also load Node's browser-compatible parts: 25 ms of a start, 11 MB. */
const { Agent, request } = process.getBuiltinModule('node:http')

const agent = new Agent({ keepAlive: true })

/**
 * Sends a small request, without the streams of `fetch`: those took a third of the CPU time of a handset's message.
 * @returns null if the simulator does not answer
 */
const send = (
  port: number,
  { method, path, headers, body }: { method: string; path: string; headers: Record<string, string>; body: string },
): Promise<Answer | null> =>
  new Promise((resolve) => {
    const fail = () => resolve(null)
    const sent = request(
      { agent, host: '127.0.0.1', port, method, path, headers, timeout: simulatorTimeoutMs },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (piece: string) => {
          text += piece
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.on('error', fail)
      },
    )
    sent.on('error', fail)
    sent.on('timeout', () => sent.destroy())
    sent.end(body)
  })

/** @param address port and token of the control interface */
export const makeSimulatorClient = (address: () => { port: number; token: string } | null): SimulatorClient => {
  const down = (): never => refuse(refusals.carriersDown())
  const ask = async (method: string, path: string, value?: unknown): Promise<Answer> => {
    const { port, token } = address() ?? down()
    const body = value ? JSON.stringify(value) : ''
    const headers = {
      authorization: `Bearer ${token}`,
      'content-length': String(Buffer.byteLength(body)),
      ...(value ? { 'content-type': 'application/json' } : {}),
    }
    return (await send(port, { method, path, headers, body })) ?? down()
  }
  const upload = async (path: string, body: AsyncIterable<Buffer>, type: string): Promise<Answer> => {
    const { port, token } = address() ?? down()
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body,
      duplex: 'half',
      signal: AbortSignal.timeout(simulatorTimeoutMs),
    }).catch(() => null)
    return answer ? { status: answer.status, text: await answer.text() } : down()
  }
  const isOk = ({ status }: Answer) => status >= 200 && status < 300
  const read = <T>(answer: Answer): T => {
    if (!isOk(answer)) down()
    // The simulator is part of this project; its control.ts defines the shapes.
    return JSON.parse(answer.text) as T
  }
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
    read<T>(await ask(method, path, body))
  const path = (number: string) => `/handsets/${encodeURIComponent(number)}`
  return {
    handset: (number) => call('GET', path(number)),
    configure: async (number, behaviour) => void (await call('PUT', path(number), behaviour)),
    send: async (number, to, text) => void (await call('POST', `${path(number)}/sms`, { to, text })),
    dial: async (number, to, how) =>
      (await call<{ call_id: string }>('POST', `${path(number)}/calls`, { to, ...how })).call_id,
    press: async (number, call_id, digits) => {
      const answer = await ask('POST', `${path(number)}/keys`, { call_id, digits })
      return answer.status !== 404 && read<{ pressed: boolean }>(answer).pressed
    },
    hangUp: async (number, call_id) => {
      const answer = await ask('POST', `${path(number)}/hang-up`, { call_id })
      if (answer.status !== 404) read(answer)
    },
    chatAction: async (number, deed, body) => {
      const answer = await ask('POST', `${path(number)}/${deed}`, body)
      // Shape of its control.ts: a result or an error.
      const said = JSON.parse(answer.text) as { id?: string; read?: number; error?: string }
      if (answer.status === 400) throw refusals.rejectedBySandbox(said.error ?? 'the sandbox rejected it')
      return isOk(answer) ? said : null
    },
    storeFile: async (body, type) => read(await upload('/files', body, type)),
    provision: async (lines) => {
      const by = (what: 'texts' | 'calls') => Object.fromEntries(lines.map((line) => [line.number, line[what]]))
      await call('PUT', '/lines', { lines: by('texts'), calls: by('calls') })
    },
  }
}
