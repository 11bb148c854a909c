import { randomUUIDv7 } from 'node:crypto'

/** Prefixes of the identifiers that the interface prints (interface.md 2.1), and of our own. */
export type Prefix =
  | 'ACC'
  | 'USR'
  | 'DID'
  | 'SMS'
  | 'SMI'
  | 'SMO'
  | 'VCI'
  | 'CDR' // a call
  | 'KEY' // an API key's record
  | 'AUD' // a row of the audit trail
  | 'DOC' // a document that was uploaded
  | 'CNX' // a connection to the outside world
  | 'TRF' // a transfer in the ledger
  | 'IMP' // an import of numbers
  | 'HLD' // money set aside
  | 'WPN' // a connected number of the messaging app
  | 'MSG'
  | 'WAG'
  | 'CON' // a contact
  | 'ASD' // what a network told and cannot be kept
  | 'CHK' // a batch of number checks
  | 'WHK'
  | 'WHD' // an event on its way to a webhook
  | 'EVT' // something that happened, as webhooks tell it

let lastMs = ''
let sequence = 0

/**
 * A UUID version 7 (RFC 9562, 5.7) whose 12 bits after the version are a counter (6.2, method 1), so that the ids which
 * one process makes within a millisecond ascend too: a thread of messages is read in the order of acceptance.
 */
export const uuid = (): string => {
  const id = randomUUIDv7()
  const ms = id.slice(0, 13)
  sequence = ms === lastMs ? (sequence + 1) & 0xfff : 0
  lastMs = ms
  return `${ms}-7${sequence.toString(16).padStart(3, '0')}${id.slice(18)}`
}

/** `ACC0190…`: the printed form of an id. */
export const print = (prefix: Prefix, id: string): string => prefix + id

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The bare uuid of a printed id, or null when it is not one of that prefix (letter case does not matter). */
export const parse = (prefix: Prefix, printed: string): string | null => {
  if (!printed.startsWith(prefix)) return null
  const id = printed.slice(prefix.length).toLowerCase()
  return uuidForm.test(id) ? id : null
}

/** The Unix milliseconds at which a UUID version 7 was made. */
export const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
