import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { openLibrary } from './library.ts'
import { scan, type } from './linking.ts'
import { attach, call, leave, read, shareKeys, write, writeToGroup } from './messages.ts'
import { makeNetwork } from './simulated-network.ts'
import { makeWorld } from './world.ts'

/**
 * A simulated WhatsApp network for linked devices, as a program that tests can stop. Prints `{"port", "control"}` on
 * one line. The control port accepts actions of its people.
 */
const { WHATSAPP_LIBRARY: folder = '', TLS_CERT: cert = '', TLS_KEY: key = '' } = process.env
const world = makeWorld(await openLibrary(folder))
const network = makeNetwork(world, { cert, key })
const port = await network.listen(0)

/** Body of a control request; each action names the properties it needs. */
type Body = {
  number: string
  to: string
  qr: string
  code: string
  text: string
  url?: string
  group?: string
  hidden?: boolean
}

const digits = (number: string) => number.replace('+', '')
const actions: { [what: string]: (body: Body) => unknown } = {
  people: ({ number }) => void world.person(digits(number)),
  scan: ({ number, qr }) => scan(world, network.unlinked, world.person(digits(number)), qr),
  code: ({ number, code }) => type(world, network.unlinked, world.person(digits(number)), code),
  write: async ({ number, to, text, url, group, hidden }) => {
    const [person, account] = [world.person(digits(number)), world.person(digits(to))]
    const content = url
      ? await attach(world, person, Buffer.from(await (await fetch(url)).arrayBuffer()), 'application/octet-stream')
      : { conversation: text }
    const where = group && world.groups.get(group)
    if (where) return { id: await writeToGroup(world, person, where, content) }
    return { id: await write(world, person, account, content, { isHidden: hidden === true }) }
  },
  read: ({ number, to }) => read(world, world.person(digits(number)), world.person(digits(to))),
  call: ({ number, to }) => call(world, world.person(digits(number)), world.person(digits(to))),
  leave: ({ number, group }) => {
    const of = world.groups.get(group ?? '')
    if (of) leave(world, world.person(digits(number)), of)
  },
  unlink: ({ number }) => {
    for (const { jid, lid, send } of world.devicesOf(world.person(digits(number)))) {
      world.devices.delete(jid)
      world.devices.delete(lid)
      send?.({
        tag: 'stream:error',
        attrs: { code: '401' },
        content: [{ tag: 'conflict', attrs: { type: 'device_removed' } }],
      })
    }
  },
  /** Ends the sockets of a number with a code: 440 when another program has taken the link. */
  end: ({ number, code }) => {
    const [told, content] =
      code === '440' ? [{}, [{ tag: 'conflict', attrs: { type: 'replaced' } }]] : [{ code }, undefined]
    for (const { send } of world.devicesOf(world.person(digits(number))))
      send?.({ tag: 'stream:error', attrs: told, content })
  },
  seen: ({ number }) => {
    const { received, picture, status, lid, wereRead } = world.person(digits(number))
    const shown = picture && createHash('sha256').update(picture).digest('hex')
    return { received, picture: shown, status, lid, wereRead: [...wereRead] }
  },
  contacts: ({ number }) => Object.fromEntries(world.person(digits(number)).addressBook.contacts),
  /** The phone is offline and shares its keys later; below, it shares them now. */
  withhold: ({ number }) => {
    world.person(digits(number)).addressBook.isWithheld = true
  },
  share: async ({ number }) => {
    const person = world.person(digits(number))
    person.addressBook.isWithheld = false
    for (const device of world.devicesOf(person)) await shareKeys(device)
  },
  rival: ({ number, to }) => {
    world.person(digits(number)).addressBook.concurrentContact = world.person(digits(to)).pnJid
  },
  spoil: ({ number, code }) => {
    world.person(digits(number)).addressBook.nextError = code
  },
  spoiled: ({ number }) => ({ code: world.person(digits(number)).addressBook.nextError }),
  group: ({ number, to }) => {
    const group = world.group('Kills', world.person(digits(number)))
    group.members.set(world.person(digits(to)), { admin: false, creator: false })
    return { id: group.id }
  },
  asked: ({ group }) => ({ count: world.groups.get(group ?? '')?.queryCount ?? 0 }),
  devices: ({ number }) => ({ count: world.devicesOf(world.person(digits(number))).length }),
  invited: ({ number }) => ({ groups: world.person(digits(number)).invitedTo }),
  refused: ({ number }) => ({ count: world.person(digits(number)).refusals }),
  waiting: ({ number }) => ({
    count: world.devicesOf(world.person(digits(number))).reduce((sum, { waiting }) => sum + waiting.size, 0),
  }),
}

const control = createServer(async (request, response) => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  try {
    const act = actions[(request.url ?? '').slice(1)]
    if (!act) throw new Error('no such act')
    const told = await act(JSON.parse(Buffer.concat(pieces).toString() || '{}'))
    response.end(JSON.stringify(told ?? {}))
  } catch (error) {
    response.writeHead(500).end(error instanceof Error ? error.stack : String(error))
  }
})
control.listen(0, '127.0.0.1')
await once(control, 'listening')
const address = control.address()
process.stdout.write(
  `${JSON.stringify({ port, control: address && typeof address === 'object' ? address.port : 0 })}\n`,
)

const stop = (): void => process.exit(0)
process.once('SIGTERM', stop)
process.stdin.once('close', stop)
process.stdin.once('error', stop)
process.stdin.resume()
