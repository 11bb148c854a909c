import { createHash } from 'node:crypto'
import { type Language, type Shift, shiftsOf } from '@trunkline/phone/gsm-national.ts'
import type { SegmentHeader } from '@trunkline/phone/segments.ts'
import type { SmsCapabilities } from '../../../ports/sms.ts'
import type { Connection } from '../../connections/ops.ts'
import type { SmsKind } from '../drivers.ts'

/** Settings that every kind of SMS connection has. */
type RouteSettings = Pick<
  Connection<SmsKind>['settings'],
  'prefixes' | 'priority' | 'weight' | 'policy' | 'validity_seconds' | 'sandbox'
>

/** A connection with what its carrier can do. */
export type RoutedConnection = {
  readonly id: string
  readonly name: string
  readonly settings: RouteSettings
  readonly capabilities: SmsCapabilities
}

/** Handling of a part whose submit response was lost. */
export type LostResponsePolicy = 'resubmit' | 'hold' | 'at_most_once'

/** A connection that may submit a message, and the reason. */
export type Candidate = {
  readonly connection: string
  readonly name: string
  /** Leading digits that selected the connection; '' matches every destination. */
  readonly prefix: string
  readonly priority: number
  readonly weight: number
  readonly texts: SmsCapabilities['texts']
  readonly header: SegmentHeader
  readonly policy: LostResponsePolicy
  /** Null: the carrier decides. */
  readonly validSeconds: number | null
  /** Languages whose shift tables the carrier supports; absent for none. */
  readonly languages?: readonly Language[]
  /** Messages may have files. */
  readonly mms?: true
  /** Parts get a callback address. */
  readonly callbacks?: true
}

/** The connections that may submit messages to a prefix, the best first. */
export type Decision = {
  /** Hash of the content, so that every process gives the same decision the same id. */
  readonly id: string
  readonly candidates: readonly Candidate[]
  /** Header that messages are segmented for: the longer one if any candidate needs it. The parts are then those that
   *  were counted and charged, whichever candidate submits them. */
  readonly header: SegmentHeader
  /** Languages whose shift tables every candidate supports, for the same reason. */
  readonly languages: readonly Language[]
  /** True if the candidates belong to the sandbox: the sender can read what the handset receives. */
  readonly isSimulated: boolean
}

const defaultPriority = 100

/** @param prefix the prefix that selected the connection */
export const candidateOf = (
  { id, name, settings, capabilities: { texts, header, languages, ...more } }: RoutedConnection,
  prefix: string,
): Candidate => ({
  connection: id,
  name,
  prefix,
  priority: settings.priority ?? defaultPriority,
  weight: settings.weight ?? 1,
  texts,
  header,
  policy: settings.policy ?? more.lostResponse ?? 'resubmit',
  validSeconds: settings.validity_seconds ?? null,
  ...(languages.length > 0 ? { languages } : {}),
  ...(more.mms ? { mms: true } : {}),
  ...(more.callbacks ? { callbacks: true } : {}),
})

/** UUID version 8 (RFC 9562, 5.8) from a hash of the content. */
const idOf = (content: unknown): string => {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Whether a connection supports the shift tables that a message was segmented for. */
export const supportsShift = ({ languages = [] }: Candidate, shift: Shift): boolean =>
  languages.some((one) =>
    shiftsOf(one).some(({ locking, single }) => locking === shift.locking && single === shift.single),
  )

const decisionOf = (candidates: readonly Candidate[], isSimulated: boolean): Decision => ({
  id: idOf(candidates),
  candidates,
  isSimulated,
  languages: (candidates[0]?.languages ?? []).filter((one) =>
    candidates.every(({ languages }) => languages?.includes(one)),
  ),
  header: candidates.some(({ header }) => header === 'udh16') ? 'udh16' : 'udh8',
})

export type RouteTable = {
  /** Returns the decision for a destination in under a microsecond: decisions are cached by prefix. Sandbox connections
   *  are returned for sandbox accounts only. */
  decide(destination: string, isSandbox: boolean): Decision
  /** Whether this table made the decision. */
  hasMade(decision: Decision): boolean
}

/**
 * Makes the route table: longest prefix, then lowest priority number; equal candidates share by weight. Sandbox
 * connections get only destinations without a real connection.
 */
export const makeRouteTable = (connections: readonly RoutedConnection[]): RouteTable => {
  const byPrefix = new Map<string, { real: Candidate[]; sandbox: Candidate[] }>()
  for (const connection of connections) {
    const { prefixes = [], sandbox } = connection.settings
    if (!connection.capabilities.send) continue
    for (const prefix of prefixes.length > 0 ? prefixes : ['']) {
      const entry = byPrefix.get(prefix) ?? { real: [], sandbox: [] }
      entry[sandbox ? 'sandbox' : 'real'].push(candidateOf(connection, prefix))
      byPrefix.set(prefix, entry)
    }
  }
  const lengths = [...new Set([...byPrefix.keys()].map(({ length }) => length))].sort((a, b) => b - a)

  const collect = (prefixes: readonly string[], kind: 'real' | 'sandbox'): Candidate[] => {
    const found = new Map<string, Candidate>()
    for (const prefix of prefixes)
      for (const candidate of [...(byPrefix.get(prefix)?.[kind] ?? [])].sort((a, b) => a.priority - b.priority))
        if (!found.has(candidate.connection)) found.set(candidate.connection, candidate)
    return [...found.values()]
  }

  const sandboxDecisions = new Map<string, Decision>()
  const realDecisions = new Map<string, Decision>()
  const all = new Set<Decision>()
  const decide = (destination: string, isSandbox: boolean): Decision => {
    const decisions = isSandbox ? sandboxDecisions : realDecisions
    const prefixes = lengths.map((length) => destination.slice(1, 1 + length)).filter((prefix) => byPrefix.has(prefix))
    const key = prefixes.join()
    const known = decisions.get(key)
    if (known) return known
    const real = collect(prefixes, 'real')
    const isSimulated = isSandbox && real.length === 0
    const made = decisionOf(isSimulated ? collect(prefixes, 'sandbox') : real, isSimulated)
    decisions.set(key, made)
    all.add(made)
    return made
  }
  return { decide, hasMade: (decision) => all.has(decision) }
}

const areEquivalent = (a: Candidate, b: Candidate) => a.prefix.length === b.prefix.length && a.priority === b.priority

/** Draws the order in which a message tries its candidates: equal candidates at random by weight. */
export const drawOrder = (candidates: readonly Candidate[], random: () => number = Math.random): Candidate[] => {
  if (candidates.length < 2) return [...candidates]
  // Efraimidis and Spirakis: each candidate has the greatest random^(1/weight) with a probability proportional to its
  // weight.
  const drawn = candidates.map((candidate, place) => ({ candidate, place, lot: random() ** (1 / candidate.weight) }))
  return drawn
    .sort((a, b) => (areEquivalent(a.candidate, b.candidate) ? b.lot - a.lot : a.place - b.place))
    .map(({ candidate }) => candidate)
}
