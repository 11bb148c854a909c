import { randomUUIDv7 } from 'node:crypto'

/** Prefixes of printed identifiers. */
export type Prefix =
  | 'ACC'
  | 'USR'
  | 'PRS' // a person
  | 'SES' // a session
  | 'INV' // an invitation
  | 'PKY' // a passkey
  | 'DID'
  | 'SMS'
  | 'SMI'
  | 'SMO'
  | 'VCI'
  | 'CDR' // a call
  | 'REC' // a recording of a call
  | 'APP' // an application: a program of calls
  | 'CLP' // an uploaded clip of sound
  | 'KEY' // an API key's record
  | 'AUD' // a row of the audit trail
  | 'DOC' // a document that was uploaded
  | 'CNX' // a connection to the outside world
  | 'TRF' // a transfer in the ledger
  | 'IMP' // an import of numbers
  | 'HLD' // a hold on money
  | 'WPN' // a connected number of the messaging app
  | 'MSG'
  | 'WAG'
  | 'CON' // a contact
  | 'ASD' // a dead letter: an inbound event that cannot be stored
  | 'CHK' // a batch of number checks
  | 'WHK'
  | 'WHE' // an address that webhooks call
  | 'WHD' // a webhook delivery
  | 'EVT' // an event
  | 'OPT' // an opt-out of SMS
  | 'SND' // a sending: the messages of one request
  | 'CNV' // a conversation of the inbox
  | 'PSH' // a browser that gets notifications
  | 'EML' // a mail
  | 'ITM' // an item of a conversation that has no id of its own kind
  | 'NTE' // a note
  | 'TAG'
  | 'RPL' // a canned reply
  | 'VIW' // a saved view
  | 'MED' // an uploaded file
  | 'CLP' // a sound that calls can play
  | 'JOB' // work of one request that goes on after its reply
  | 'DJB' // a job of the queue that failed permanently

let lastMs = ''
let sequence = 0

/**
 * Returns a UUID version 7 (RFC 9562, 5.7) whose 12 bits after the version are a counter (6.2, method 1). Ids of one
 * process ascend within a millisecond too, so that messages are listed in the order of acceptance.
 */
export const uuid = (): string => {
  const id = randomUUIDv7()
  const ms = id.slice(0, 13)
  sequence = ms === lastMs ? (sequence + 1) & 0xfff : 0
  lastMs = ms
  return `${ms}-7${sequence.toString(16).padStart(3, '0')}${id.slice(18)}`
}

/** No id is greater. */
export const greatestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Returns the printed form of an id: `ACC0190…`. */
export const print = (prefix: Prefix, id: string): string => prefix + id

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Returns the bare uuid of a printed id, or null if it is invalid or has another prefix. Ignores the letter case. */
export const parse = (prefix: Prefix, printed: string): string | null => {
  if (!printed.startsWith(prefix)) return null
  const id = printed.slice(prefix.length).toLowerCase()
  return uuidForm.test(id) ? id : null
}

/** Returns the creation time of a UUID version 7 in Unix milliseconds. */
export const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/** Returns the smallest uuid of version 7 created at that time, in Unix milliseconds (RFC 9562, 5.7). */
export const idAt = (ms: number): string => {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0').slice(-12)
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}
