import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connectWhatsappWeb } from '../../src/adapters/whatsapp-web/whatsapp-web-network.ts'
import type { ChatCredentialStore } from '../../src/ports/chat.ts'

/**
 * The connector alone, in a process that kills itself at a chosen write of its keys. State that must survive is in
 * files of a folder: the keys and the inbound messages. Reads lines of `{id, to, text}` to send and `{contact, name}`
 * to store. Writes its state and results.
 */
const {
  FOLDER: folder = '',
  HOME_FOLDER: home = '',
  SETTINGS = '{}',
  NUMBER: number = '',
  KILL = '',
  REFUSALS = '0',
} = process.env
/** `before 3` or `after 3`: counts writes since the connection. */
const [side, at] = [KILL.split(' ')[0], Number(KILL.split(' ')[1])]

/** Number of inbound messages that it refuses to persist. */
let refusals = Number(REFUSALS)

const say = (told: object) => process.stdout.write(`${JSON.stringify(told)}\n`)
const die = () => process.kill(process.pid, 'SIGKILL')

const file = join(folder, 'keys.json')
const kept: { [place: string]: string } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
let isCounting = false
let writes = 0

const vault: ChatCredentialStore = {
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
      // Waits until the network has responded to what was sent before the write.
      await new Promise((resolve) => setTimeout(resolve, 300))
      die()
    }
    for (const { type, id, value } of entries) {
      if (value) kept[`${type} ${id}`] = value.toString('base64')
      else delete kept[`${type} ${id}`]
    }
    // Written atomically.
    writeFileSync(`${file}.new`, JSON.stringify(kept))
    renameSync(`${file}.new`, file)
    if (isCounting && side === 'after' && writes === at) die()
    await new Promise((resolve) => setImmediate(resolve))
  },
  forget: async () => {},
}

const ignored = async () => {}
const network = connectWhatsappWeb(JSON.parse(SETTINGS), {
  credentials: vault,
  home,
  log: (event, details) => say({ log: event, ...details }),
  events: {
    line: (_channel, { phase, qr, reason }) => {
      if (phase === 'connected') isCounting = true
      say({ phase, qr, reason })
    },
    inbound: async (_channel, { id, text }) => {
      if (refusals-- > 0) throw new Error('not persisted')
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
      const told = await network.saveContact?.('one', { number: contact, firstName: name, lastName: '' })
      return say({ kept: name, outcome: told?.outcome })
    }
    const peer = to.endsWith('@g.us') ? { group: to } : { number: to, remote: null }
    const { outcome } = await network.send('one', { id, to: peer, text, file: null, pin: null })
    say({ sent: id, outcome, writes })
  })
  .on('close', () => process.exit(0))
