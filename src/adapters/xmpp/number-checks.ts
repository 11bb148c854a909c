import { randomInt, randomUUID } from 'node:crypto'
import type { IqResult } from '@trunkline/xmpp/iq-requests.ts'
import { parseJid } from '@trunkline/xmpp/jid.ts'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import { pingTimeoutMs, type Wire } from '@trunkline/xmpp/wire.ts'
import { child, elements, textOf, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import type { ChatNumberCheck } from '../../ports/chat.ts'
import type { Addresses } from './addresses.ts'
import { form } from './forms.ts'
import { calibrationTtlMs, concurrentChecks } from './limits.ts'
import { profileOf } from './profile.ts'

export type AccountExistence = ChatNumberCheck['there']

/** Runs an administration command on the server (XEP-0133). Null when we are not its administrator. */
export type Administration = (node: string, fields: Readonly<Record<string, string>>) => Promise<IqResult>

/** Builds a one-step command: XEP-0133 defines the form, so it need not be fetched. */
export const adminCommand = (to: string, node: string, fields: Readonly<Record<string, string>>): XmlElement =>
  xml(
    'iq',
    '',
    { type: 'set', to },
    xml('command', ns.commands, { node: `${ns.admin}#${node}`, action: 'execute' }, form(ns.admin, fields)),
  )

/** Returns the error note of an executed command, or null. */
export const errorNoteOf = (answer: IqResult): string | null => {
  const command = answer.outcome === 'result' ? child(answer.iq, 'command', ns.commands) : undefined
  const notes = command ? elements(command, 'note').filter(({ attrs }) => attrs.type === 'error') : []
  return notes[0] ? textOf(notes[0]).slice(0, 300) || 'error' : null
}

const isCompleted = (answer: IqResult): boolean =>
  answer.outcome === 'result' && child(answer.iq, 'command', ns.commands)?.attrs.status === 'completed'

/** Result of one method; `reason` is the refusal text. Null when no answer came. */
type ProbeResult = { readonly exists: AccountExistence; readonly reason: string } | null

const checkByAdministration = async (ask: Administration, jid: string): Promise<ProbeResult> => {
  const answer = await ask('user-stats', { accountjid: jid })
  if (answer.outcome === 'lost') return null
  const there = (): AccountExistence => {
    if (answer.outcome === 'error') return answer.condition === 'item-not-found' ? 'no' : 'unknown'
    const note = errorNoteOf(answer)
    if (note !== null) return /not exist|not found|unknown user/i.test(note) ? 'no' : 'unknown'
    return isCompleted(answer) ? 'yes' : 'unknown'
  }
  return { exists: there(), reason: '' }
}

/** Errors of a server that has no such account (RFC 6121, 8.5.1). */
const missingAccountErrors = new Set(['service-unavailable', 'item-not-found'])

/**
 * Checks whether accounts exist with an invisible message: a chat state that must not be stored (XEP-0085, XEP-0334).
 * The server refuses it for a missing account. Our own server processes stanzas in order (RFC 6120, 10.1).
 * An answered ping sent after the message therefore proves that no refusal will come: the account exists.
 */
export class Probes {
  private readonly pending = new Map<string, (found: ProbeResult) => void>()

  /** @returns whether the stanza answered a pending probe */
  takeAnswer(message: XmlElement, { condition, reason }: { condition: string; reason: string }): boolean {
    const settle = this.pending.get(message.attrs.id ?? '')
    settle?.({ exists: missingAccountErrors.has(condition) ? 'no' : 'unknown', reason })
    return settle !== undefined
  }

  async probe(wire: Wire, jid: string, type: 'headline' | 'chat'): Promise<ProbeResult> {
    const id = `probe-${randomUUID()}`
    const { promise, resolve } = Promise.withResolvers<ProbeResult>()
    this.pending.set(id, resolve)
    const hints = ['no-store', 'no-copy'].map((name) => xml(name, ns.hints))
    const isOut = wire.send(xml('message', '', { type, id, to: jid }, xml('active', ns.chatStates), ...hints))
    // Needs its own ping: a shared one may have left before the message.
    const ping = xml('iq', '', { type: 'get', to: parseJid(jid).domain }, xml('ping', ns.ping))
    const barrier = wire
      .request(ping, pingTimeoutMs)
      .then(({ outcome }): ProbeResult => (isOut && outcome !== 'lost' ? { exists: 'yes', reason: '' } : null))
    const found = await Promise.race([promise, barrier])
    this.pending.delete(id)
    return found
  }
}

const methods = ['administration', 'headline', 'chat'] as const
type Method = (typeof methods)[number]

/** Returns an address without an account: ITU-T E.164 assigns no code 999, and no 15-digit number begins with it. */
const nonexistentJid = (addresses: Addresses): string =>
  addresses.jidOf(`+999${String(randomInt(1e12)).padStart(12, '0')}`)

type Deps = {
  readonly wire: Wire
  readonly probes: Probes
  readonly administration: Administration | null
  readonly addresses: Addresses
}

/**
 * Chooses methods by which a server distinguishes missing accounts from existing ones.
 * ejabberd answers `user-stats` for any address, and refuses a chat state for an offline account. Prosody drops a
 * headline for any address.
 * Each method is therefore calibrated with an address without an account, and used only when the server refuses that
 * one.
 */
export class ExistenceChecker {
  /** Refusal text for a missing account, by method; null for a method that does not refuse. */
  private readonly refusals = new Map<Method, { readonly words: Promise<string | null>; readonly until: number }>()

  async check(number: string, asking: Deps): Promise<AccountExistence> {
    const jid = asking.addresses.jidOf(number)
    for (const way of methods) {
      if (way === 'administration' && !asking.administration) continue
      if (way !== 'administration' && !asking.wire.isUp) return 'unknown'
      const words = await this.refusal(way, asking)
      if (words === null) continue
      const found = await this.probe(way, jid, asking)
      if (found === null || found.exists === 'unknown') continue
      // A refusal with another text than that for a missing account has another reason.
      return found.exists === 'no' && found.reason !== words ? 'unknown' : found.exists
    }
    return 'unknown'
  }

  private probe(way: Method, jid: string, { wire, probes, administration }: Deps): Promise<ProbeResult> {
    if (way !== 'administration') return probes.probe(wire, jid, way)
    return administration ? checkByAdministration(administration, jid) : Promise.resolve(null)
  }

  private refusal(way: Method, asking: Deps): Promise<string | null> {
    const known = this.refusals.get(way)
    if (known && known.until > performance.now()) return known.words
    const words = this.probe(way, nonexistentJid(asking.addresses), asking).then((found) => {
      if (found === null) this.refusals.delete(way)
      return found?.exists === 'no' ? found.reason : null
    })
    this.refusals.set(way, { words, until: performance.now() + calibrationTtlMs })
    return words
  }
}

/** Checks each number and returns the results in the order of the numbers. */
export const checkNumbers = async (
  wire: Wire,
  addresses: Addresses,
  numbers: readonly string[],
  extra: boolean,
  existenceOf: (number: string) => Promise<AccountExistence>,
): Promise<ChatNumberCheck[]> => {
  const checkOne = async (number: string): Promise<ChatNumberCheck> => {
    const there = await existenceOf(number)
    const nothing = { picture: null, pushname: null, status: null, business: null }
    const profile = extra && there === 'yes' ? await profileOf(wire, addresses.jidOf(number)) : nothing
    return { number, there, id: there === 'yes' ? number.slice(1) : null, ...nothing, ...profile }
  }
  const checked: ChatNumberCheck[] = []
  for (let from = 0; from < numbers.length; from += concurrentChecks) {
    checked.push(...(await Promise.all(numbers.slice(from, from + concurrentChecks).map(checkOne))))
  }
  return checked
}
