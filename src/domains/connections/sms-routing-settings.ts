import { Type } from 'typebox'
import { Enum } from '../../platform/http/schema.ts'
import { count, prefixes, priority, sandboxed } from './setting-schemas.ts'

/** Settings of every kind of SMS connection. */
export const smsRouting = {
  prefixes: Type.Optional(prefixes),
  priority: Type.Optional(priority),
  weight: Type.Optional(
    count(1, 1000, 'Share of the messages among connections of the same prefix and priority. Default: 1'),
  ),
  policy: Type.Optional(
    Enum(['resubmit', 'hold', 'at_most_once'], {
      description:
        'When the response to a submit is lost: submit again at once (default of smpp), wait a minute for a receipt and then submit again (default of sms-http), or never submit again',
    }),
  ),
  validity_seconds: Type.Optional(
    count(60, 604_800, 'Validity period of a message, for us and for the carrier. Default: 48 hours, for us only'),
  ),
  sandbox: Type.Optional(sandboxed),
}
