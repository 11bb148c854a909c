import type { Static } from 'typebox'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { type ProgramReference, requireApplication } from '../../applications/ops.ts'
import { refusals as applicationRefusals } from '../../applications/refusals.ts'
import { isActive } from '../../users/ops.ts'
import type { VoiceSetting } from '../number-schemas.ts'
import { refusals } from '../refusals.ts'
import type { NumberRow } from './virtual-number-store.ts'

type VoiceFields = Pick<NumberRow, 'voice' | 'inbound_user_id'>
type VoiceBody = Static<typeof VoiceSetting>

/** Checks the addresses of a program of a number. @throws the 400 Problem */
export const checkVoiceAddresses = async (outbound: Outbound, voice: VoiceBody | undefined): Promise<void> => {
  for (const field of ['url', 'fallback_url'] as const) {
    const address = voice?.[field]
    const fault = address === undefined || address === null ? null : await outbound.check(address)
    if (fault !== null) throw refusals.urlRefused(field, fault)
  }
}

/** Returns the id of a user who may take calls. @throws the 404 Problem */
export const ringingUser = async (sql: Sql, account: string, printed: string): Promise<string> => {
  const id = parse('USR', printed)
  return id && (await isActive(sql, account, id)) ? id : refuse(refusals.noActiveUser(printed))
}

const requireProgram = async (tx: Tx, account: string, printed: string): Promise<ProgramReference> => {
  const application = parse('APP', printed) ?? refuse(applicationRefusals.unknownApplication(printed))
  const { format } = await requireApplication(tx, account, application)
  return { kind: 'application', application, shape: format }
}

/** Returns what a request makes calls to a number do. Ids that its kind does not need exist too. @throws the 400 or 404 Problem */
export const readVoice = async (tx: Tx, account: string, voice: VoiceBody): Promise<VoiceFields> => {
  const { user_uuid: user, application_uuid: application } = voice
  const rings = user === undefined ? null : await ringingUser(tx, account, user)
  const program = application === undefined ? null : await requireProgram(tx, account, application)
  if (voice.kind === 'none') return { voice: null, inbound_user_id: null }
  if (voice.kind === 'user')
    return { voice: null, inbound_user_id: rings ?? refuse(refusals.voiceField('user', 'user_uuid')) }
  if (voice.kind === 'application')
    return {
      voice: program ?? refuse(refusals.voiceField('application', 'application_uuid')),
      inbound_user_id: null,
    }
  const { method = 'POST', fallback_url = null, fallback_method = 'POST' } = voice
  const url = voice.url ?? refuse(refusals.voiceField('url', 'url'))
  return {
    voice: { kind: 'url', url, method, fallback_url, fallback_method, shape: 'native' },
    inbound_user_id: null,
  }
}
