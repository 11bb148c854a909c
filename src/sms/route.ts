import { createHash } from 'node:crypto'
import type { Connection } from '../connections/ops.ts'
import type { LongMode } from '../lib/segments.ts'

type RouteSettings = Pick<
  Connection<'smpp'>['settings'],
  'prefixes' | 'priority' | 'weight' | 'policy' | 'validity_seconds' | 'long' | 'sandbox' | 'bind'
>
type Routable = { readonly id: string; readonly name: string; readonly settings: RouteSettings }

/** What becomes of a part when the answer to its submit is lost. */
export type Policy = 'resubmit' | 'hold' | 'at_most_once'

/** A connection that may carry a text, and why. */
export type Candidate = {
  readonly connection: string
  readonly name: string
  /** The leading digits by which it was chosen; '' is every destination. */
  readonly prefix: string
  readonly priority: number
  readonly weight: number
  readonly long: LongMode
  readonly policy: Policy
  /** Null: as long as the carrier likes. */
  readonly validSeconds: number | null
}

/** The connections that may carry texts to a prefix, the best first. */
export type Decision = {
  /** Made of the content, so that every process gives the same decision the same id. */
  readonly id: string
  readonly candidates: readonly Candidate[]
  /** How texts are cut: for the longer header where any of the candidates needs it, so that whichever of them carries a
   *  text, its parts are those that were counted and paid for. */
  readonly long: 'udh8' | 'udh16'
  /** The candidates are the sandbox's: who sends reads what the handset gets. */
  readonly isSimulated: boolean
}

const defaultPriority = 100

/** @param prefix by which it was chosen */
export const candidateOf = ({ id, name, settings }: Routable, prefix: string): Candidate => ({
  connection: id,
  name,
  prefix,
  priority: settings.priority ?? defaultPriority,
  weight: settings.weight ?? 1,
  long: settings.long ?? 'udh8',
  policy: settings.policy ?? 'resubmit',
  validSeconds: settings.validity_seconds ?? null,
})

/** A UUID of the free form (RFC 9562, 5.8) from a hash of the content. */
const idOf = (content: unknown): string => {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

const decisionOf = (candidates: readonly Candidate[], isSimulated: boolean): Decision => ({
  id: idOf(candidates),
  candidates,
  isSimulated,
  long: candidates.some(({ long }) => long === 'udh16' || long === 'sar') ? 'udh16' : 'udh8',
})

/** Finds the connections for a destination: under a microsecond, since decisions are made once for each prefix.
 *  Sandbox connections are found for sandbox accounts only. */
export type Table = (destination: string, isSandbox: boolean) => Decision

/**
 * Makes the table of routes: longest prefix, then lowest priority number; equals share by weight. Sandbox connections
 * carry only what no other does.
 */
export const makeTable = (connections: readonly Routable[]): Table => {
  const byPrefix = new Map<string, { real: Candidate[]; sandbox: Candidate[] }>()
  for (const connection of connections) {
    const { prefixes = [], bind, sandbox } = connection.settings
    if (bind === 'receiver') continue
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
  return (destination, isSandbox) => {
    const decisions = isSandbox ? sandboxDecisions : realDecisions
    const prefixes = lengths.map((length) => destination.slice(1, 1 + length)).filter((prefix) => byPrefix.has(prefix))
    const key = prefixes.join()
    const known = decisions.get(key)
    if (known) return known
    const real = collect(prefixes, 'real')
    const isSimulated = isSandbox && real.length === 0
    const made = decisionOf(isSimulated ? collect(prefixes, 'sandbox') : real, isSimulated)
    decisions.set(key, made)
    return made
  }
}

const areEqual = (a: Candidate, b: Candidate) => a.prefix.length === b.prefix.length && a.priority === b.priority

/** The candidates in the order in which one text tries them: equals by chance, each as often as its weight says. */
export const inOrder = (candidates: readonly Candidate[], random: () => number = Math.random): Candidate[] => {
  if (candidates.length < 2) return [...candidates]
  // Efraimidis and Spirakis: the greatest of random^(1/weight) is each one with the chance of its weight.
  const drawn = candidates.map((candidate, place) => ({ candidate, place, lot: random() ** (1 / candidate.weight) }))
  return drawn
    .sort((a, b) => (areEqual(a.candidate, b.candidate) ? b.lot - a.lot : a.place - b.place))
    .map(({ candidate }) => candidate)
}
