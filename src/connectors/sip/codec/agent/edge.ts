import { isTooShort, leastSeconds } from '../dialog/refresher.ts'
import { contactsOf, contentTypeOf, maxForwardsOf, tagOf, tokensOf, toOf } from '../fields.ts'
import { header, type SipRequest } from '../message.ts'
import type { Answer } from '../reply.ts'

/** Methods that are understood, as Allow says them. */
export const allowed = 'INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, UPDATE, PRACK, REGISTER'

/** Extensions that are understood (RFC 4028, RFC 3262). */
export const supported = 'timer, 100rel'

const methods = new Set(allowed.split(', '))
const extensions = new Set(supported.split(', '))

/**
 * Why a request goes no further (RFC 3261, 8.2): null when its handler may take it as it is. What is checked here no handler needs to
 * doubt.
 * @param isKnown it belongs to a dialog that we have
 */
export const refusalOf = (request: SipRequest, isKnown: boolean): Answer | null => {
  const { method, uri } = request
  if (!methods.has(method)) return { status: 405, headers: [['Allow', allowed]] }
  if (!/^(?:sips?|tel):/i.test(uri)) return { status: 416 }
  const unsupported = tokensOf(request, 'Require').filter((name) => !extensions.has(name))
  if (unsupported.length > 0) return { status: 420, headers: [['Unsupported', unsupported.join(', ')]] }
  const isWithin = tagOf(toOf(request)) !== null
  if (isWithin !== isKnown || (!isWithin && ['BYE', 'INFO', 'UPDATE', 'PRACK'].includes(method))) return { status: 481 }
  if (method === 'INVITE' && maxForwardsOf(request) === 0) return { status: 483 }
  return contactRefusal(request) ?? bodyRefusal(request) ?? intervalRefusal(request)
}

const contactRefusal = (request: SipRequest): Answer | null => {
  if (request.method !== 'INVITE') return null
  const contacts = contactsOf(request)
  // 8.1.1.8: exactly one, for the dialog's requests go there.
  return contacts === '*' || contacts.length !== 1 ? { status: 400, reason: 'One Contact Wanted' } : null
}

const bodyRefusal = (request: SipRequest): Answer | null => {
  if (request.body.length === 0) return null
  if (header(request, 'Content-Encoding') !== null) return { status: 415, headers: [['Accept-Encoding', 'identity']] }
  const isOffer = request.method === 'INVITE' || request.method === 'UPDATE'
  if (isOffer && contentTypeOf(request) !== 'application/sdp')
    return { status: 415, headers: [['Accept', 'application/sdp, multipart/mixed']] }
  return null
}

const intervalRefusal = (request: SipRequest): Answer | null => {
  const opens = request.method === 'INVITE' || request.method === 'UPDATE'
  return opens && isTooShort(request) ? { status: 422, headers: [['Min-SE', String(leastSeconds)]] } : null
}
