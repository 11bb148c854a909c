import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Inbound, Pin } from '../../src/connectors/sandbox/codec.ts'
import { type Body, bad, missing, numberOf, type Reply } from '../answers.ts'
import type { ChatItem } from './book.ts'
import { nameOf, Refusal } from './exchange.ts'
import { isChatFault } from './faults.ts'
import { callOnPhone, writeOnPhone } from './phones.ts'
import type { ChatPlace } from './place.ts'

// What the control interface does with the chat network.

const printed = ({ at, pin, media, digest, group, number: _number, lines, ...item }: ChatItem): Body => ({
  ...item,
  at: new Date(at).toISOString(),
  lines,
  ...(group === null ? {} : { group }),
  ...(pin === null ? {} : { pin }),
  ...(media === null ? {} : { media }),
  ...(digest === null ? {} : { digest }),
})

/** What a handset saw on the chat network, oldest first. */
export const chatSeen = ({ book }: ChatPlace, number: string): Body[] => book.items.seen(number).map(printed)

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

const pinOf = (value: unknown): Pin | null => {
  if (typeof value !== 'object' || value === null) return null
  const { latitude, longitude, name, address } = {
    latitude: null,
    longitude: null,
    name: null,
    address: null,
    ...value,
  }
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return null
  return {
    latitude,
    longitude,
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof address === 'string' ? { address } : {}),
  }
}

/** A file that was brought before (`takeFile`). */
const fileOf = ({ files }: ChatPlace, value: unknown, url: string): Inbound['file'] => {
  if (typeof value !== 'object' || value === null) return null
  const { id, mimeType, size } = { id: null, mimeType: null, size: null, ...value }
  if (typeof id !== 'string' || typeof mimeType !== 'string' || typeof size !== 'number') return null
  return files.has(id) ? { id, mimeType, size, name: nameOf(url) } : null
}

const write = (place: ChatPlace, number: string, body: Body, isPhone: boolean): Reply => {
  const [text, url, pin, group] = [textOf(body.text), textOf(body.url), pinOf(body.pin), textOf(body.group)]
  const to = numberOf(body.to)
  if (text === null && url === null && pin === null) return bad('text, url or pin: one at least')
  const peer = group !== null ? { group } : to !== null ? { number: to } : null
  if (peer === null) return bad('to: a number, or group: its id')
  const file = url === null ? null : fileOf(place, body.file, url)
  if (url !== null && file === null) return bad('file: what lies at the url, brought before')
  const writing = { to: peer, text, file, pin }
  const { exchange } = place
  const id = isPhone ? writeOnPhone(exchange, number, writing, url) : exchange.write(number, writing, url)
  return { status: 202, body: { id } }
}

const act = (place: ChatPlace, number: string, what: string, body: Body): Reply => {
  const { exchange, groups, server } = place
  const done = (fields: Body = {}): Reply => ({ status: 202, body: fields })
  const [id, group] = [textOf(body.id), textOf(body.group)]
  switch (what) {
    case 'msgapp':
      return write(place, number, body, false)
    case 'phone-writes':
      return write(place, number, body, true)
    case 'read': {
      const from = numberOf(body.from)
      return from ? done({ read: exchange.read(number, from) }) : bad('from: a number')
    }
    case 'msgapp-calls': {
      const to = numberOf(body.to)
      return to ? done({ id: exchange.call(number, to, body.video === true) }) : bad('to: a number')
    }
    case 'phone-calls': {
      const to = numberOf(body.to)
      return to ? done({ id: callOnPhone(exchange, number, to, body.video === true) }) : bad('to: a number')
    }
    case 'edit': {
      const text = textOf(body.text)
      if (id === null || text === null) return bad('id: of a message; text: not empty')
      exchange.touch(number, id, { text })
      return done()
    }
    case 'react':
      if (id === null) return bad('id: of a message')
      exchange.touch(number, id, { emoji: textOf(body.emoji) })
      return done()
    case 'leave':
      if (group === null) return bad('group: its id')
      groups.leave(number, group)
      return done()
    case 'group': {
      const name = textOf(body.name)
      const participants = Array.isArray(body.participants)
        ? body.participants.flatMap((one) => numberOf(one) ?? [])
        : []
      if (name === null) return bad('name: of the group')
      return done(groups.create(number, { name, description: null, participants }))
    }
    case 'pair':
      return server.pair(number) ? done() : missing
    default:
      return missing
  }
}

/** A handset does something. */
export const chatHandset = (place: ChatPlace, number: string, what: string, body: Body): Reply => {
  try {
    return act(place, number, what, body)
  } catch (error) {
    if (error instanceof Refusal) return { status: 409, body: { error: error.message, code: error.code } }
    throw error
  }
}

/** Groups, address books, and faults: `{"kind": …, "ms": …}`. */
export const chatControl = ({ book, faults, server }: ChatPlace, method: string, what: string, body: Body): Reply => {
  if (what === 'groups' && method === 'GET') return { status: 200, body: { groups: [...book.rooms.values()] } }
  if (what === 'contacts' && method === 'GET')
    return { status: 200, body: { contacts: Object.fromEntries(book.contacts) } }
  if (what !== 'faults') return missing
  if (method === 'DELETE') faults.clear()
  else if (method === 'POST') {
    const { kind, ms } = body
    if (!isChatFault(kind)) return bad('kind: not a fault')
    if (kind === 'disconnect') server.disconnect()
    else faults.on(kind, typeof ms === 'number' ? ms : kind === 'late' ? 1_500 : 500)
  }
  return { status: 200, body: { faults: faults.list } }
}

/** Keeps a file for a handset to send: the body as it is. */
export const takeFile = async ({ files }: ChatPlace, request: IncomingMessage): Promise<Reply> => {
  try {
    return { status: 201, body: await files.take(request, request.headers['content-type']) }
  } catch (error) {
    return bad(`the file: ${error instanceof Error ? error.message : error}`)
  }
}

/** Shows a picture of somebody to anybody. False when the address is none of one. */
export const picture = ({ files }: ChatPlace, url: string, response: ServerResponse): boolean => {
  const id = /^\/pictures\/([0-9a-f]{64})$/.exec(url)?.[1]
  if (!id) return false
  const file = files.open(id)
  if (!file) response.writeHead(404).end()
  else {
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    file.pipe(response)
  }
  return true
}
