import { requireApplication } from '../../../domains/applications/ops.ts'
import type { NumberRow } from '../../../domains/numbers/lifecycle/ops.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import { methodOf } from '../compat-schemas.ts'
import { refusals } from '../refusals.ts'

/** The parameters that say what calls to a number run. Empty: none. */
export type VoiceFields = {
  readonly VoiceUrl?: string
  readonly VoiceMethod?: string
  readonly VoiceFallbackUrl?: string
  readonly VoiceFallbackMethod?: string
  readonly VoiceApplicationSid?: string
  readonly StatusCallback?: string
  readonly StatusCallbackMethod?: string
}

type Voice = Pick<NumberRow, 'voice' | 'inbound_user_id'>

const without: Extract<NumberRow['voice'], { kind: 'url' }> = {
  kind: 'url',
  url: '',
  method: 'POST',
  fallback_url: null,
  fallback_method: 'POST',
  shape: 'twilio',
}

/** Fields that belong to VoiceUrl. */
const ofUrl = ['VoiceFallbackUrl', 'StatusCallback'] as const

const applicationOf = async (tx: Tx, account: string, sid: string): Promise<Voice> => {
  const application = parseSid('AP', sid) ?? refuse(refusals.badVoiceApplication(sid))
  const { format } = await requireApplication(tx, account, application)
  return { voice: { kind: 'application', application, shape: format }, inbound_user_id: null }
}

/**
 * Returns what calls to a number do after a change; nothing if it does not concern them. An application precedes a URL.
 * @throws Problem 400 or 404
 */
export const changedVoice = async (
  tx: Tx,
  account: string,
  before: Voice,
  body: VoiceFields,
): Promise<Voice | Record<string, never>> => {
  const { VoiceUrl, VoiceFallbackUrl, VoiceApplicationSid: application, StatusCallback } = body
  if (application) return await applicationOf(tx, account, application)
  const isFreed = application === '' && before.voice?.kind === 'application'
  const known = before.voice?.kind === 'url' ? before.voice : null
  const url = VoiceUrl ?? known?.url ?? ''
  if (url === '') {
    const field = ofUrl.find((name) => body[name])
    if (field !== undefined) throw refusals.needsVoiceUrl(field)
    return isFreed || known !== null ? { voice: null, inbound_user_id: null } : {}
  }
  const voice = known ?? without
  const isChanged = isFreed || Object.keys(body).some((name) => /^(?:Voice|StatusCallback)/.test(name))
  if (!isChanged) return {}
  return {
    voice: {
      kind: 'url',
      url,
      method: body.VoiceMethod ? methodOf(body.VoiceMethod) : voice.method,
      fallback_url: (VoiceFallbackUrl ?? voice.fallback_url) || null,
      fallback_method: body.VoiceFallbackMethod ? methodOf(body.VoiceFallbackMethod) : voice.fallback_method,
      status_url: (StatusCallback ?? voice.status_url) || null,
      status_method: body.StatusCallbackMethod ? methodOf(body.StatusCallbackMethod) : (voice.status_method ?? 'POST'),
      shape: 'twilio',
    },
    inbound_user_id: null,
  }
}

/** Returns the fields of a number that say what calls to it run. */
export const presentVoice = ({ voice }: Pick<NumberRow, 'voice'>) => {
  const url = voice?.kind === 'url' ? voice : without
  return {
    voice_url: url.url === '' ? null : url.url,
    voice_method: url.method,
    voice_fallback_url: url.fallback_url,
    voice_fallback_method: url.fallback_method,
    voice_application_sid: voice?.kind === 'application' ? printSid('AP', voice.application) : '',
    status_callback: url.status_url ?? '',
    status_callback_method: url.status_method ?? 'POST',
  }
}
