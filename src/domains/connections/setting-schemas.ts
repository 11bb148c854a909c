import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { Enum } from '../../platform/http/schema.ts'

// Fields of connection settings.

export const count = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description })

export const rate = (description: string) => Type.Number({ exclusiveMinimum: 0, maximum: 100_000, description })

/** A C-octet string. */
export const Ascii = (maxLength: number, description?: string) =>
  Type.String({ maxLength, pattern: '^[ -~]*$', ...(description === undefined ? {} : { description }) })

export const secret = (maxLength: number, description: string) =>
  Confidential(
    Type.String({ minLength: 1, maxLength, description: `${description}; sealed at rest and never returned` }),
  )

// Fields shared by several kinds.
export const host = Type.String({ minLength: 1, maxLength: 253, examples: ['127.0.0.1'] })
export const port = Type.Integer({ minimum: 1, maximum: 65_535, examples: [2775] })
export const password = Confidential(
  Type.String({ maxLength: 64, description: 'Sealed at rest and never returned', examples: ['secret'] }),
)
export const authority = Type.String({
  maxLength: 100_000,
  description: 'PEM of the only trusted certificate authority',
})
export const serverName = Type.String({ maxLength: 253 })
export const baseUrl = Type.String({
  pattern: '^https?://[^\\s?#]+$',
  maxLength: 300,
  description:
    'Default: didww https://api.didww.com/v3 (the sandbox is https://sandbox-api.didww.com/v3), whatsapp-cloud https://graph.facebook.com, sms-http that of the provider. kannel requires it: http://127.0.0.1:13013/cgi-bin/sendsms',
})
export const reconnectSeconds = count(1, 3600, 'Longest wait between attempts to connect. Default: 60')

export const window = count(1, 1000, 'Window: unanswered submits, of smpp per bind, of sms-http in all. Default: 10')
export const tps = rate('Parts per second over all binds and workers. Default: no limit')
export const tpsPerSender = rate('Parts per second of one sending number. Default: no limit')
export const responseSeconds = count(1, 300, 'Longest wait for a response. Default: 10')
export const apiKey = secret(200, 'didww: key of API 3, from the user panel. telnyx, vonage: the key of the API')
export const token = secret(
  200,
  'sandbox: the credential for the network. sms-http: the {token} of templates of generic',
)
export const callbackSecret = secret(
  200,
  'didww: the callback secret that is enabled in the user panel; without one, orders are only polled. sms-http: proves the origin of callbacks; bandwidth: their password',
)

export const prefixes = Type.Array(Type.String({ pattern: '^[0-9]{1,15}$' }), {
  maxItems: 5000,
  description: 'Leading digits of the destinations that it carries; empty: every destination',
})
export const priority = count(0, 1000, 'Among equally matching connections the lowest priority is used. Default: 100')
export const sandboxed = Type.Boolean({
  description:
    'Simulated carrier: carries only destinations that no other connection has prefixes for, and only for sandbox accounts',
})

/** Words of a carrier in receipts. */
export const receiptStates = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9_+-]{1,32}$' }),
  Enum(['enroute', 'accepted', 'unknown', 'delivered', 'undelivered', 'expired', 'rejected']),
  {
    additionalProperties: false,
    maxProperties: 50,
    description:
      'States by the carrier’s words in receipts (stat), or by the numbers of message_state. They go before the known words. delivered, undelivered, expired and rejected are final',
    examples: [{ PARKED: 'enroute', '11': 'undelivered' }],
  },
)

/** A DNS name or an address. */
export const Domain = (description: string) =>
  Type.String({ minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9.:\\[\\]-]+$', description })

export const LocalPart = (description: string) =>
  Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\s"&\'/:<>@]+$', description })

/** For numbers in national form. */
export const callingCode = Type.String({
  pattern: '^[1-9][0-9]{0,2}$',
  description:
    'Country calling code of numbers in national form, such as 07911123456; required if `numbers` of a trunk is national, and to read such numbers from an SMS carrier',
  examples: ['44'],
})
