import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Inbound, Pin } from '../../src/adapters/sandbox/codec.ts'
import { type Body, badRequest, type ControlResponse, notFound, numberOf } from '../responses.ts'
import { isChatFault } from './chat-faults.ts'
import type { ChatSimulator } from './chat-simulator.ts'
import type { ChatItem } from './chat-state.ts'
import { fileNameOf, Refusal } from './message-router.ts'
import { callOnPhone, writeOnPhone } from './phone-actions.ts'

// Chat network part of the control interface.

const presentItem = ({ at, pin, media, digest, group, number: _number, lines, ...item }: ChatItem): Body => ({
  ...item,
  at: new Date(at).toISOString(),
  lines,
  ...(group === null ? {} : { group }),
  ...(pin === null ? {} : { pin }),
  ...(media === null ? {} : { media }),
  ...(digest === null ? {} : { digest }),
})

/** Messages of a handset on the chat network, oldest first. */
export const presentChatItems = ({ state }: ChatSimulator, number: string): Body[] =>
  state.items.itemsOf(number).map(presentItem)

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

/** A file stored earlier (`receiveFile`). */
const fileOf = ({ files }: ChatSimulator, value: unknown, url: string): Inbound['file'] => {
  if (typeof value !== 'object' || value === null) return null
  const { id, mimeType, size } = { id: null, mimeType: null, size: null, ...value }
  if (typeof id !== 'string' || typeof mimeType !== 'string' || typeof size !== 'number') return null
  return files.has(id) ? { id, mimeType, size, name: fileNameOf(url) } : null
}

const write = (place: ChatSimulator, number: string, body: Body, isPhone: boolean): ControlResponse => {
  const [text, url, pin, group] = [textOf(body.text), textOf(body.url), pinOf(body.pin), textOf(body.group)]
  const to = numberOf(body.to)
  if (text === null && url === null && pin === null) return badRequest('text, url or pin: one at least')
  const peer = group !== null ? { group } : to !== null ? { number: to } : null
  if (peer === null) return badRequest('to: a number, or group: its id')
  const file = url === null ? null : fileOf(place, body.file, url)
  if (url !== null && file === null) return badRequest('file: an id from POST /files for the url')
  const writing = { to: peer, text, file, pin }
  const { router } = place
  const id = isPhone ? writeOnPhone(router, number, writing, url) : router.write(number, writing, url)
  return { status: 202, body: { id } }
}

const perform = (place: ChatSimulator, number: string, what: string, body: Body): ControlResponse => {
  const { router, groups, server } = place
  const done = (fields: Body = {}): ControlResponse => ({ status: 202, body: fields })
  const [id, group] = [textOf(body.id), textOf(body.group)]
  switch (what) {
    case 'msgapp':
      return write(place, number, body, false)
    case 'phone-writes':
      return write(place, number, body, true)
    case 'read': {
      const from = numberOf(body.from)
      return from ? done({ read: router.read(number, from) }) : badRequest('from: a number')
    }
    case 'msgapp-calls': {
      const to = numberOf(body.to)
      return to ? done({ id: router.call(number, to, body.video === true) }) : badRequest('to: a number')
    }
    case 'phone-calls': {
      const to = numberOf(body.to)
      return to ? done({ id: callOnPhone(router, number, to, body.video === true) }) : badRequest('to: a number')
    }
    case 'edit': {
      const text = textOf(body.text)
      if (id === null || text === null) return badRequest('id: of a message; text: not empty')
      router.changeMessage(number, id, { text })
      return done()
    }
    case 'react':
      if (id === null) return badRequest('id: of a message')
      router.changeMessage(number, id, { emoji: textOf(body.emoji) })
      return done()
    case 'leave':
      if (group === null) return badRequest('group: its id')
      groups.leave(number, group, body.removed === true)
      return done()
    case 'enter':
      if (group === null) return badRequest('group: its id')
      groups.enter(number, group)
      return done()
    case 'group': {
      const name = textOf(body.name)
      const participants = Array.isArray(body.participants)
        ? body.participants.flatMap((one) => numberOf(one) ?? [])
        : []
      if (name === null) return badRequest('name: of the group')
      return done(groups.create(number, { name, description: null, participants }))
    }
    case 'pair':
      return server.pair(number) ? done() : notFound
    default:
      return notFound
  }
}

/** Performs an action of a handset. */
export const handleChatAction = (place: ChatSimulator, number: string, what: string, body: Body): ControlResponse => {
  try {
    return perform(place, number, what, body)
  } catch (error) {
    if (error instanceof Refusal) return { status: 409, body: { error: error.message, code: error.code } }
    throw error
  }
}

/** Groups, address books and faults: `{"kind": …, "ms": …}`. */
export const handleChatControl = (
  { state, faults, server }: ChatSimulator,
  method: string,
  what: string,
  body: Body,
): ControlResponse => {
  if (what === 'groups' && method === 'GET') return { status: 200, body: { groups: [...state.rooms.values()] } }
  if (what === 'contacts' && method === 'GET')
    return { status: 200, body: { contacts: Object.fromEntries(state.contacts) } }
  if (what !== 'faults') return notFound
  if (method === 'DELETE') faults.clear()
  else if (method === 'POST') {
    const { kind, ms } = body
    if (!isChatFault(kind)) return badRequest('kind: not a fault')
    if (kind === 'disconnect') server.disconnect()
    else faults.activate(kind, typeof ms === 'number' ? ms : kind === 'late' ? 1_500 : 500)
  }
  return { status: 200, body: { faults: faults.list } }
}

/** Stores a file for a handset to send; the request body is the file. */
export const receiveFile = async ({ files }: ChatSimulator, request: IncomingMessage): Promise<ControlResponse> => {
  try {
    return { status: 201, body: await files.receive(request, request.headers['content-type']) }
  } catch (error) {
    return badRequest(`the file: ${error instanceof Error ? error.message : error}`)
  }
}

/** Serves a public profile picture. Returns false for any other path. */
export const servePicture = ({ files }: ChatSimulator, url: string, response: ServerResponse): boolean => {
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
