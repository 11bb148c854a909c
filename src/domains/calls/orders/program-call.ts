import type { ProgramCall } from '../programs/program.ts'
import type { CallRow } from '../store.ts'

type ProgramCallRow = Pick<
  CallRow,
  | 'id'
  | 'account_id'
  | 'status'
  | 'direction'
  | 'user_id'
  | 'from_number'
  | 'caller_id_used'
  | 'to_number'
  | 'virtual_number_id'
> &
  Partial<Pick<CallRow, 'parent_id' | 'origin' | 'diverted_from'>>

/** Returns a call as its program and its callbacks see it. */
export const programCallOf = (row: ProgramCallRow, tags: Record<string, unknown> = {}): ProgramCall => ({
  ...{ id: row.id, account: row.account_id, parent: row.parent_id ?? null, status: row.status, tags },
  direction: row.direction === 'I' ? 'inbound' : 'outbound',
  origin: row.origin ?? (row.direction === 'I' ? 'trunk' : row.user_id ? 'device' : 'api'),
  from: row.direction === 'I' ? (row.from_number ?? '') : row.caller_id_used,
  to: row.to_number,
  number: row.virtual_number_id,
  divertedFrom: row.diverted_from ?? null,
})
