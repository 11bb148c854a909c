import { isProgramError, type ProgramSource } from '../../../domains/calls/compat/ops.ts'
import { errorCodeOf } from '../callbacks/call-parameters.ts'
import { methodOf } from '../compat-schemas.ts'
import { refusals } from '../refusals.ts'

/** The parameters that name the program of a call. */
export type ProgramFields = {
  readonly Url?: string
  readonly Method?: string
  readonly Twiml?: string
  readonly FallbackUrl?: string
  readonly FallbackMethod?: string
}

/** Compiles the TwiML of a request. @throws Problem 400 */
const documentOf = async (twiml: string): Promise<ProgramSource> => {
  // The parser is loaded with the first document: few installations need it.
  const { compileCallDocument } = await import('../twiml/call-document.ts')
  try {
    const { verbs } = compileCallDocument(null, twiml)
    return { kind: 'verbs', verbs, base_url: null, shape: 'twilio' }
  } catch (error) {
    if (!isProgramError(error)) throw error
    throw refusals.badTwiml(error.message, errorCodeOf(error.code))
  }
}

/** Returns the program that a request names by Url or Twiml; null without one. @throws Problem 400 */
export const programOf = async (body: ProgramFields): Promise<ProgramSource | null> => {
  const { Url: url = '', Method: method = 'POST', FallbackUrl: fallback = '', FallbackMethod = 'POST' } = body
  if (url !== '')
    return {
      kind: 'url',
      url,
      method: methodOf(method),
      fallback_url: fallback === '' ? null : fallback,
      fallback_method: methodOf(FallbackMethod),
      shape: 'twilio',
    }
  return body.Twiml ? await documentOf(body.Twiml) : null
}
