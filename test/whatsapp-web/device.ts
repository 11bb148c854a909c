import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ChatVault } from '../../src/connectors/chat-port.ts'
import { connectWhatsappWeb } from '../../src/connectors/whatsapp-web/network.ts'

/**
 * The connector alone, as a process that ends itself with SIGKILL at a write of its keys that is told. What it must not lose lies in
 * files of a folder: the keys, and what came in. Takes `{id, to, text}` to send, and `{contact, name}` to keep, a line each; says how
 * it stands and what it did.
 */
const {
  FOLDER: folder = '',
  HOME_FOLDER: home = '',
  SETTINGS = '{}',
  NUMBER: number = '',
  KILL = '',
  REFUSALS = '0',
} = process.env
/** `before 3` or `after 3`: of the writes since it was connected. */
const [side, at] = [KILL.split(' ')[0], Number(KILL.split(' ')[1])]

/** How often it refuses to keep what came in. */
let refusals = Number(REFUSALS)

const say = (told: object) => process.stdout.write(`${JSON.stringify(told)}\n`)
const die = () => process.kill(process.pid, 'SIGKILL')

const file = join(folder, 'keys.json')
const kept: { [place: string]: string } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
let isCounting = false
let writes = 0

const vault: ChatVault = {
  read: async (_channel, type, ids) =>
    new Map(
      ids.flatMap((id) => {
        const found = kept[`${type} ${id}`]
        return found === undefined ? [] : [[id, Buffer.from(found, 'base64')] as const]
      }),
    ),
  write: async (_channel, entries) => {
    if (isCounting) writes++
    if (isCounting && side === 'before' && writes === at) {
      // As long as the network needs to answer what was sent before it was written.
      await new Promise((resolve) => setTimeout(resolve, 300))
      die()
    }
    for (const { type, id, value } of entries) {
      if (value) kept[`${type} ${id}`] = value.toString('base64')
      else delete kept[`${type} ${id}`]
    }
    // All of it or nothing.
    writeFileSync(`${file}.new`, JSON.stringify(kept))
    renameSync(`${file}.new`, file)
    if (isCounting && side === 'after' && writes === at) die()
    await new Promise((resolve) => setImmediate(resolve))
  },
  forget: async () => {},
}

const ignored = async () => {}
const network = connectWhatsappWeb(JSON.parse(SETTINGS), {
  vault,
  home,
  log: (event, details) => say({ log: event, ...details }),
  events: {
    line: (_channel, { phase, qr, reason }) => {
      if (phase === 'connected') isCounting = true
      say({ phase, qr, reason })
    },
    inbound: async (_channel, { id, text }) => {
      if (refusals-- > 0) throw new Error('kept by nobody')
      appendFileSync(join(folder, 'inbound'), `${JSON.stringify({ id, text })}\n`)
      say({ inbound: text })
    },
    receipt: ignored,
    failure: ignored,
    edited: ignored,
    reaction: ignored,
    call: ignored,
    group: ignored,
    mapped: ignored,
    renamed: ignored,
  },
})
network.attach({ channel: 'one', number, name: 'One', since: null })

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { id, to, text, contact, name } = JSON.parse(line)
    if (contact) {
      const told = await network.keepContact?.('one', { number: contact, firstName: name, lastName: '' })
      return say({ kept: name, outcome: told?.outcome })
    }
    const peer = to.endsWith('@g.us') ? { group: to } : { number: to, remote: null }
    const { outcome } = await network.send('one', { id, to: peer, text, file: null, pin: null })
    say({ sent: id, outcome, writes })
  })
  .on('close', () => process.exit(0))
