import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server } from 'node:http'
import { errorStack } from '../src/lib/error-text.ts'
import type { LongMode } from '../src/lib/segments.ts'
import { type Body, bad, missing, numberOf, type Reply } from './answers.ts'
import { chatControl, chatHandset, chatSeen, picture, takeFile } from './chat/control.ts'
import type { ChatPlace } from './chat/place.ts'
import { type Faults, isFaultKind } from './faults.ts'
import { type Item, isOutcome } from './handsets.ts'
import { isManner, manners } from './manners.ts'
import type { Network } from './network.ts'
import type { Smsc } from './smsc.ts'
import { callsSeen, isTalk, voiceHandset } from './voice/control.ts'
import type { VoicePlace } from './voice/place.ts'
import { manners as callManners, isCallManner } from './voice/telephone.ts'

/** Imported by name it would load the browser-like parts of Node too: 12 MB. */
const { createServer } = process.getBuiltinModule('node:http')

export type ControlParts = {
  network: Network
  smsc: Smsc
  faults: Faults
  token: string
  chat: ChatPlace
  voice: VoicePlace
}

/** The longest body taken, octets. */
const maxBody = 65_536

/** A deliver_sm whose sm_length runs over its end. */
const brokenPdu = '000000210000000500000000000003e800010131000101320000000000000000ff'

const modes: readonly LongMode[] = ['udh8', 'udh16', 'sar', 'payload']

const printed = ({ direction, peer, text, at, carrierId }: Item): Body => ({
  direction,
  peer,
  text,
  at: new Date(at).toISOString(),
  ...(carrierId === null ? {} : { carrier_id: carrierId }),
})

const handset = ({ network, chat, voice }: ControlParts, number: string, method: string, body: Body): Reply => {
  if (method === 'GET') {
    const sms = network.handsets.seen(number).map(printed)
    return {
      status: 200,
      body: {
        ...{ number, behaviour: network.handsets.behaviour(number) },
        ...{ sms, msgapp: chatSeen(chat, number), calls: callsSeen(voice, number) },
      },
    }
  }
  if (method !== 'PUT') return missing
  if ('sms' in body && !isOutcome(body.sms)) return bad('sms: deliver, undeliverable, expire, reject or silent')
  if ('answers' in body && !isCallManner(body.answers)) return bad(`answers: ${callManners.join(', ')}`)
  const { carrier = null, talk_seconds: talk = null } = body
  if (talk !== null && !isTalk(talk)) return bad('talk_seconds: null, or 1 to 14400')
  if (carrier !== null && !isManner(carrier)) return bad(`carrier: null, ${Object.keys(manners).join(', ')}`)
  network.change(number, body)
  return { status: 200, body: { number, behaviour: network.handsets.behaviour(number) } }
}

/** Which parts are brought, and in which order; null for what is no order. */
const orderOf = (order: unknown): number[] | undefined | null => {
  if (order === undefined) return undefined
  return Array.isArray(order) && order.length <= 1_000 && order.every(Number.isInteger) ? order : null
}

const send = ({ network }: ControlParts, number: string, body: Body): Reply => {
  const to = numberOf(body.to)
  const { text, long = 'udh8', latin1 = false } = body
  const mode = modes.find((one) => one === long)
  const order = orderOf(body.order)
  if (!to || typeof text !== 'string' || text === '' || !mode) return bad('to: a number, text: not empty')
  if (order === null || typeof latin1 !== 'boolean') return bad('order: places of parts, from 1; latin1: true or false')
  network.send(number, to, text, { long: mode, order, latin1 })
  return { status: 202, body: { number, to } }
}

/** `{"lines": {"+44…": true}}`: true for numbers of the platform, false for those that no longer are. */
/** Numbers, each with whether it is the platform's; null for what is no such list. */
const linesOf = (given: unknown): (readonly [string, boolean])[] | null =>
  typeof given !== 'object' || given === null
    ? null
    : Object.entries(given).flatMap(([number, ours]) => {
        const known = numberOf(number)
        return known ? [[known, ours === true] as const] : []
      })

/** Which numbers texts go back to the platform for, and which calls. */
const provision = ({ network, voice }: ControlParts, { lines, calls = {} }: Body): Reply => {
  const [texts, called] = [linesOf(lines), linesOf(calls)]
  if (!texts || !called) return bad('lines, calls: numbers, each true or false')
  network.provision(texts)
  voice.trunk.provision(called)
  return { status: 200, body: {} }
}

const fault = ({ faults, smsc }: ControlParts, method: string, body: Body): Reply => {
  if (method === 'DELETE') {
    faults.clear()
    smsc.deaf(false)
  } else if (method === 'POST') {
    const { kind, pdu = brokenPdu, now, bind: place } = body
    if (kind === 'deaf') smsc.deaf(true)
    else if (!isFaultKind(kind)) return bad('kind: not a fault')
    else if (kind === 'malformed' && typeof pdu === 'string') smsc.inject(Buffer.from(pdu, 'hex'))
    else if (kind === 'disconnect' && now === true) smsc.disconnect(typeof place === 'number' ? place : undefined)
    else faults.add(kind, body)
  }
  return { status: 200, body: { faults: faults.list } }
}

const state = ({ network, smsc, faults, chat, voice }: ControlParts): Reply => ({
  status: 200,
  body: {
    ...smsc.state,
    deliveries: network.dispatch.size,
    handsets: network.handsets.size,
    items: network.handsets.items,
    faults: faults.list,
    chat: { ...chat.server.state, faults: chat.faults.list },
    voice: voice.trunk.state,
    rss: process.memoryUsage.rss(),
  },
})

const route = (parts: ControlParts, method: string, path: string, body: Body): Reply => {
  const [, first, second, third, fourth] = path.split('/')
  if (first === 'state' && method === 'GET') return state(parts)
  if (first === 'lines' && method === 'PUT') return provision(parts, body)
  if (first === 'submits' && method === 'GET') return { status: 200, body: { submits: parts.smsc.submits.sent.list() } }
  if (first === 'chat') return chatControl(parts.chat, method, second ?? '', body)
  if (first === 'faults') return fault(parts, method, body)
  if (first !== 'handsets' || second === undefined || fourth !== undefined) return missing
  const number = numberOf(second.replace(/^%2B/i, '+'))
  if (!number) return bad('not a number')
  if (third === undefined) return handset(parts, number, method, body)
  if (method !== 'POST') return missing
  if (third === 'sms') return send(parts, number, body)
  if (third === 'calls' || third === 'hang-up') return voiceHandset(parts.voice, number, third, body)
  return chatHandset(parts.chat, number, third, body)
}

/** The JSON object of a request; null when it is too long, or is none. */
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

/** The interface through which a sandbox moves the handsets: JSON over HTTP, with a bearer token. */
export const controlServer = (parts: ControlParts): Server => {
  const expected = digest(`Bearer ${parts.token}`)
  return createServer(async (request, response) => {
    const answer = ({ status, body }: Reply): void => {
      const json = JSON.stringify(body)
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) })
      response.end(json)
    }
    try {
      const { method = '', url = '' } = request
      if (method === 'GET' && picture(parts.chat, url, response)) return
      if (!timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) {
        answer({ status: 401, body: { error: 'token' } })
        return
      }
      if (method === 'POST' && url === '/files') {
        answer(await takeFile(parts.chat, request))
        return
      }
      const body = await read(request)
      const reply = body ? route(parts, method, url.split('?')[0] ?? '', body) : bad('not a JSON object')
      parts.network.flush()
      parts.chat.book.flush()
      answer(reply)
    } catch (error) {
      process.stderr.write(`${errorStack(error)}\n`)
      response.destroy()
    }
  })
}
