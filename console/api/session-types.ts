import type { Static } from 'typebox'
import type { showSession } from '../../src/domains/persons/sessions/contract.ts'

export type Session = Static<(typeof showSession)['reply']>
export type SessionAccount = Session['accounts'][number]
export type Capability = SessionAccount['capabilities'][number]
