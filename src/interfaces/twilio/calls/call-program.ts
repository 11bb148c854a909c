import { isProgramError, type ProgramSource } from '../../../domains/calls/compat/ops.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { errorCodeOf } from '../callbacks/call-parameters.ts'
import { addressFault } from '../callbacks/program-request.ts'
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

type AddressFields = ProgramFields & { readonly StatusCallback?: string }

/** Checks the addresses of a request before its transaction. @throws Problem 400 */
export const checkAddresses = async (outbound: Outbound, body: AddressFields): Promise<void> => {
  for (const field of ['Url', 'FallbackUrl', 'StatusCallback'] as const) {
    const url = body[field]
    if (!url) continue
    const fault = await addressFault(outbound, url)
    if (fault !== null) throw refusals.badCallUrl(field, url, fault)
  }
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
