import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import type { ConcatenationMode } from '@trunkline/phone/segments.ts'
import { errorStack } from '../src/platform/lib/error-text.ts'
import {
  handleChatAction,
  handleChatControl,
  presentChatItems,
  receiveFile,
  servePicture,
} from './chat/chat-control.ts'
import type { ChatSimulator } from './chat/chat-simulator.ts'
import { type Item, isOutcome } from './handsets.ts'
import { type Body, badRequest, type ControlResponse, notFound, numberOf } from './responses.ts'
import { type Faults, isFaultKind } from './sms/faults.ts'
import { isNumberFault, numberFaults } from './sms/number-faults.ts'
import type { SmsNetwork } from './sms/sms-network.ts'
import type { Smsc } from './sms/smsc.ts'
import { callBehaviours as callManners, isCallBehaviour } from './voice/handset-call.ts'
import { handleVoiceAction, isTalkSeconds, presentCalls } from './voice/voice-control.ts'
import type { VoiceSimulator } from './voice/voice-simulator.ts'

/** Importing the module by name would also load Node's browser-compatible parts: 12 MB. */
const { createServer } = process.getBuiltinModule('node:http')

export type Deps = {
  network: SmsNetwork
  smsc: Smsc
  faults: Faults
  token: string
  chat: ChatSimulator
  voice: VoiceSimulator
}

/** Maximum bytes of a body. */
const maxBody = 65_536

/** A deliver_sm whose sm_length exceeds its end. */
const brokenPdu = '000000210000000500000000000003e800010131000101320000000000000000ff'

const modes: readonly ConcatenationMode[] = ['udh8', 'udh16', 'sar', 'payload']

const presentItem = ({ direction, peer, text, at, carrierId }: Item): Body => ({
  direction,
  peer,
  text,
  at: new Date(at).toISOString(),
  ...(carrierId === null ? {} : { carrier_id: carrierId }),
})

const handset = ({ network, chat, voice }: Deps, number: string, method: string, body: Body): ControlResponse => {
  if (method === 'GET') {
    const sms = network.handsets.itemsOf(number).map(presentItem)
    return {
      status: 200,
      body: {
        ...{ number, behaviour: network.handsets.behaviour(number) },
        ...{ sms, msgapp: presentChatItems(chat, number), calls: presentCalls(voice, number) },
      },
    }
  }
  if (method !== 'PUT') return notFound
  if ('sms' in body && !isOutcome(body.sms)) return badRequest('sms: deliver, undeliverable, expire, reject or silent')
  if ('answers' in body && !isCallBehaviour(body.answers)) return badRequest(`answers: ${callManners.join(', ')}`)
  const { carrier = null, talk_seconds: talk = null } = body
  if (talk !== null && !isTalkSeconds(talk)) return badRequest('talk_seconds: null, or 1 to 14400')
  if (carrier !== null && !isNumberFault(carrier))
    return badRequest(`carrier: null, ${Object.keys(numberFaults).join(', ')}`)
  network.change(number, body)
  return { status: 200, body: { number, behaviour: network.handsets.behaviour(number) } }
}

/** Order of the parts to deliver; null for an invalid order. */
const orderOf = (order: unknown): number[] | undefined | null => {
  if (order === undefined) return undefined
  return Array.isArray(order) && order.length <= 1_000 && order.every(Number.isInteger) ? order : null
}

const sendSms = ({ network }: Deps, number: string, body: Body): ControlResponse => {
  const to = numberOf(body.to)
  const { text, long = 'udh8', latin1 = false } = body
  const mode = modes.find((one) => one === long)
  const order = orderOf(body.order)
  if (!to || typeof text !== 'string' || text === '' || !mode) return badRequest('to: a number, text: not empty')
  if (order === null || typeof latin1 !== 'boolean')
    return badRequest('order: numbers of parts, from 1; latin1: true or false')
  network.send(number, to, text, { long: mode, order, latin1 })
  return { status: 202, body: { number, to } }
}

/**
 * Numbers with a flag: true for platform numbers, false for former ones, as in `{"lines": {"+44…": true}}`. Null for an
 * invalid list.
 */
const numbersOf = (value: unknown): (readonly [string, boolean])[] | null =>
  typeof value !== 'object' || value === null
    ? null
    : Object.entries(value).flatMap(([number, ours]) => {
        const known = numberOf(number)
        return known ? [[known, ours === true] as const] : []
      })

/** Sets the platform numbers to which messages and calls are returned. */
const provision = ({ network, voice }: Deps, { lines, calls = {} }: Body): ControlResponse => {
  const [texts, called] = [numbersOf(lines), numbersOf(calls)]
  if (!texts || !called) return badRequest('lines, calls: numbers, each true or false')
  network.provision(texts)
  voice.trunk.provision(called)
  return { status: 200, body: {} }
}

const fault = ({ faults, smsc }: Deps, method: string, body: Body): ControlResponse => {
  if (method === 'DELETE') {
    faults.clear()
    smsc.setDeaf(false)
  } else if (method === 'POST') {
    const { kind, pdu = brokenPdu, now, bind: place } = body
    if (kind === 'deaf') smsc.setDeaf(true)
    else if (!isFaultKind(kind)) return badRequest('kind: not a fault')
    else if (kind === 'malformed' && typeof pdu === 'string') smsc.inject(Buffer.from(pdu, 'hex'))
    else if (kind === 'disconnect' && now === true) smsc.disconnect(typeof place === 'number' ? place : undefined)
    else faults.add(kind, body)
  }
  return { status: 200, body: { faults: faults.list } }
}

const state = ({ network, smsc, faults, chat, voice }: Deps): ControlResponse => ({
  status: 200,
  body: {
    ...smsc.state,
    deliveries: network.deliveryQueue.size,
    handsets: network.handsets.size,
    items: network.handsets.items,
    faults: faults.list,
    chat: { ...chat.server.state, faults: chat.faults.list },
    voice: voice.trunk.state,
    rss: process.memoryUsage.rss(),
  },
})

const route = (parts: Deps, method: string, path: string, body: Body): ControlResponse => {
  const [, first, second, third, fourth] = path.split('/')
  if (first === 'state' && method === 'GET') return state(parts)
  if (first === 'lines' && method === 'PUT') return provision(parts, body)
  if (first === 'submits' && method === 'GET') return { status: 200, body: { submits: parts.smsc.submits.log.list() } }
  if (first === 'chat') return handleChatControl(parts.chat, method, second ?? '', body)
  if (first === 'faults') return fault(parts, method, body)
  if (first !== 'handsets' || second === undefined || fourth !== undefined) return notFound
  const number = numberOf(second.replace(/^%2B/i, '+'))
  if (!number) return badRequest('not a number')
  if (third === undefined) return handset(parts, number, method, body)
  if (method !== 'POST') return notFound
  if (third === 'sms') return sendSms(parts, number, body)
  if (third === 'calls' || third === 'hang-up' || third === 'keys')
    return handleVoiceAction(parts.voice, number, third, body)
  return handleChatAction(parts.chat, number, third, body)
}

/** The JSON object of a request; null when it is too long or invalid. */
const read = async (request: IncomingMessage): Promise<Body | null> => {
  let text = ''
  request.setEncoding('utf8')
  for await (const piece of request) {
    text += String(piece)
    if (text.length > maxBody) return null
  }
  if (text === '') return {}
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : null
  } catch {
    return null
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Control interface of the sandbox for its handsets: JSON over HTTP with a bearer token. */
export const controlServer = (parts: Deps): Server => {
  const expected = digest(`Bearer ${parts.token}`)
  return createServer(async (request, response) => {
    const answer = ({ status, body }: ControlResponse): void => {
      const json = JSON.stringify(body)
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) })
      response.end(json)
    }
    try {
      const { method = '', url = '' } = request
      if (method === 'GET' && servePicture(parts.chat, url, response)) return
      if (!timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) {
        answer({ status: 401, body: { error: 'token' } })
        return
      }
      if (method === 'POST' && url === '/files') {
        answer(await receiveFile(parts.chat, request))
        return
      }
      const body = await read(request)
      const reply = body ? route(parts, method, url.split('?')[0] ?? '', body) : badRequest('not a JSON object')
      parts.network.flush()
      parts.chat.state.flush()
      answer(reply)
    } catch (error) {
      process.stderr.write(`${errorStack(error)}\n`)
      response.destroy()
    }
  })
}
