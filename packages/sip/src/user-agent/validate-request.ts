import { isIntervalTooShort, minSessionSeconds } from '../dialog/session-timer.ts'
import { contactsOf, contentTypeOf, maxForwardsOf, tagOf, tokensOf, toOf } from '../fields.ts'
import { header, type SipRequest } from '../message.ts'
import type { ResponseOptions } from '../response.ts'

/** Supported methods, as sent in Allow. */
export const allowedMethods = 'INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, UPDATE, PRACK, REGISTER'

/** Supported extensions (RFC 4028, RFC 3262). */
export const supportedExtensions = 'timer, 100rel'

const methods = new Set(allowedMethods.split(', '))
const extensions = new Set(supportedExtensions.split(', '))

/** Refuses a method. Calls are not transferred: a REFER would let the peer place calls at the cost of the account. */
export const refusalOfMethod = (method: string): ResponseOptions => ({
  ...{ status: 405, headers: [['Allow', allowedMethods]] },
  ...(method === 'REFER' ? { reason: 'Transfer Not Supported' } : {}),
})

/**
 * Checks a request (RFC 3261, 8.2). Returns the refusal, or null when its handler may process it without further
 * checks.
 * @param isKnown it belongs to one of our dialogs
 */
export const validateRequest = (request: SipRequest, isKnown: boolean): ResponseOptions | null => {
  const { method, uri } = request
  if (!methods.has(method)) return refusalOfMethod(method)
  if (!/^(?:sips?|tel):/i.test(uri)) return { status: 416 }
  const unsupported = tokensOf(request, 'Require').filter((name) => !extensions.has(name))
  if (unsupported.length > 0) return { status: 420, headers: [['Unsupported', unsupported.join(', ')]] }
  const isWithin = tagOf(toOf(request)) !== null
  if (isWithin !== isKnown || (!isWithin && ['BYE', 'INFO', 'UPDATE', 'PRACK'].includes(method))) return { status: 481 }
  if (method === 'INVITE' && maxForwardsOf(request) === 0) return { status: 483 }
  return contactRefusal(request) ?? bodyRefusal(request) ?? intervalRefusal(request)
}

const contactRefusal = (request: SipRequest): ResponseOptions | null => {
  if (request.method !== 'INVITE') return null
  const contacts = contactsOf(request)
  // 8.1.1.8: exactly one Contact, the target of the dialog's requests.
  return contacts === '*' || contacts.length !== 1 ? { status: 400, reason: 'One Contact Wanted' } : null
}

const bodyRefusal = (request: SipRequest): ResponseOptions | null => {
  if (request.body.length === 0) return null
  if (header(request, 'Content-Encoding') !== null) return { status: 415, headers: [['Accept-Encoding', 'identity']] }
  const isOffer = request.method === 'INVITE' || request.method === 'UPDATE'
  if (isOffer && contentTypeOf(request) !== 'application/sdp')
    return { status: 415, headers: [['Accept', 'application/sdp, multipart/mixed']] }
  return null
}

const intervalRefusal = (request: SipRequest): ResponseOptions | null => {
  const opens = request.method === 'INVITE' || request.method === 'UPDATE'
  return opens && isIntervalTooShort(request) ? { status: 422, headers: [['Min-SE', String(minSessionSeconds)]] } : null
}
