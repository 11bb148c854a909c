import { randomUUID } from 'node:crypto'
import type { ChatChecked } from '../chat-port.ts'
import type { Addresses } from './addresses.ts'
import { ns } from './codec/names.ts'
import { child, elements, textOf, type Xml, xml } from './codec/xml.ts'
import { form } from './forms.ts'
import { profileOf } from './profile.ts'
import type { Answer } from './requests.ts'
import type { Wire } from './wire.ts'

export type There = ChatChecked['there']

/** Asks the server something as its administrator (XEP-0133); null when we are none. */
export type Administration = (node: string, fields: Readonly<Record<string, string>>) => Promise<Answer>

/** A command in one step: the form of XEP-0133 is known. */
export const commandOf = (to: string, node: string, fields: Readonly<Record<string, string>>): Xml =>
  xml(
    'iq',
    '',
    { type: 'set', to },
    xml('command', ns.commands, { node: `${ns.admin}#${node}`, action: 'execute' }, form(ns.admin, fields)),
  )

/** What a command that was carried out says went wrong; null when nothing did. */
export const noteOf = (answer: Answer): string | null => {
  const command = answer.outcome === 'result' ? child(answer.iq, 'command', ns.commands) : undefined
  const notes = command ? elements(command, 'note').filter(({ attrs }) => attrs.type === 'error') : []
  return notes[0] ? textOf(notes[0]).slice(0, 300) || 'error' : null
}

const isCompleted = (answer: Answer): boolean =>
  answer.outcome === 'result' && child(answer.iq, 'command', ns.commands)?.attrs.status === 'completed'

const askAdministration = async (ask: Administration, jid: string): Promise<There> => {
  const answer = await ask('user-stats', { accountjid: jid })
  if (answer.outcome === 'error') return answer.condition === 'item-not-found' ? 'no' : 'unknown'
  const note = noteOf(answer)
  if (note !== null) return /not exist|not found|unknown user/i.test(note) ? 'no' : 'unknown'
  return isCompleted(answer) ? 'yes' : 'unknown'
}

/** Errors of a server that has no such account (RFC 6121, 8.5.1). */
const absent = new Set(['service-unavailable', 'item-not-found'])

/**
 * Whether accounts exist, asked by a message that nobody sees: a chat state that is not to be kept (XEP-0085, XEP-0334). A
 * missing account is refused. The own server takes stanzas in their order (RFC 6120, 10.1), so once it answers a ping that
 * went after, a refusal would have come: the account is there.
 */
export class Probes {
  private readonly waiting = new Map<string, (there: There) => void>()

  /** @returns whether the stanza was the answer to one of them */
  take(message: Xml, condition: string): boolean {
    const settle = this.waiting.get(message.attrs.id ?? '')
    settle?.(absent.has(condition) ? 'no' : 'unknown')
    return settle !== undefined
  }

  async ask(wire: Wire, jid: string): Promise<There> {
    const id = `probe-${randomUUID()}`
    const { promise, resolve } = Promise.withResolvers<There>()
    this.waiting.set(id, resolve)
    const hints = ['no-store', 'no-copy'].map((name) => xml(name, ns.hints))
    const isOut = wire.send(xml('message', '', { type: 'chat', id, to: jid }, xml('active', ns.chatStates), ...hints))
    const barrier = wire.ping().then((isBack): There => (isOut && isBack ? 'yes' : 'unknown'))
    const there = await Promise.race([promise, barrier])
    this.waiting.delete(id)
    return there
  }
}

export const exists = (
  wire: Wire,
  probes: Probes,
  administration: Administration | null,
  jid: string,
): Promise<There> => (administration ? askAdministration(administration, jid) : probes.ask(wire, jid))

const atATime = 8

/** What is known of each number, in their order. */
export const checkNumbers = async (
  wire: Wire,
  addresses: Addresses,
  numbers: readonly string[],
  extra: boolean,
  thereOf: (number: string) => Promise<There>,
): Promise<ChatChecked[]> => {
  const checkOne = async (number: string): Promise<ChatChecked> => {
    const there = await thereOf(number)
    const nothing = { picture: null, pushname: null, status: null, business: null }
    const profile = extra && there === 'yes' ? await profileOf(wire, addresses.jidOf(number)) : nothing
    return { number, there, id: there === 'yes' ? number.slice(1) : null, ...nothing, ...profile }
  }
  const checked: ChatChecked[] = []
  for (let from = 0; from < numbers.length; from += atATime) {
    checked.push(...(await Promise.all(numbers.slice(from, from + atATime).map(checkOne))))
  }
  return checked
}
