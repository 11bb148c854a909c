import type { ProgramCall } from '../programs/program.ts'
import type { CallRow } from '../store.ts'

/** Returns a call of the API as its program and its callbacks see it. */
export const programCallOf = (row: CallRow, tags: Record<string, unknown>): ProgramCall => ({
  ...{ id: row.id, account: row.account_id, parent: null, status: row.status, tags },
  direction: row.direction === 'I' ? 'inbound' : 'outbound',
  origin: row.direction === 'I' ? 'trunk' : row.user_id ? 'device' : 'api',
  from: row.direction === 'I' ? (row.from_number ?? '') : row.caller_id_used,
  to: row.to_number,
  number: row.virtual_number_id,
  divertedFrom: row.diverted_from,
})
