import { Type } from 'typebox'
import { Enum } from '../http/schema.ts'
import {
  Ascii,
  authority,
  callingCode,
  count,
  Domain,
  host,
  password,
  port,
  prefixes,
  priority,
  sandboxed,
  serverName,
} from './fields.ts'

/** Settings of a SIP trunk (RFC 3261). */
export const SipTrunk = Type.Object({
  host,
  port: Type.Optional(port),
  transport: Type.Optional(Enum(['udp', 'tcp', 'tls'], { description: 'Default udp' })),
  tls_ca: Type.Optional(authority),
  tls_server_name: Type.Optional(serverName),
  username: Type.Optional(Ascii(100)),
  password: Type.Optional(password),
  register: Type.Optional(
    Type.Boolean({ description: 'Registers with the carrier, so that it finds us; wants username and password' }),
  ),
  allowed_addresses: Type.Optional(
    Type.Array(Type.String({ pattern: '^[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?$' }), {
      maxItems: 200,
      description:
        'IP addresses or networks that calls may come from, beside the addresses of host; all others hear nothing',
      examples: [['203.0.113.0/28']],
    }),
  ),
  from_domain: Type.Optional(Domain('Host of our From and P-Asserted-Identity; default: ours')),
  numbers: Type.Optional(
    Enum(['e164', 'plus', 'national'], {
      description:
        'How numbers are written to it: digits with the country code, the same after a +, or as dialled in the country of calling_code; default plus',
    }),
  ),
  calling_code: Type.Optional(callingCode),
  codecs: Type.Optional(
    Type.Array(Enum(['pcmu', 'pcma']), { minItems: 1, maxItems: 2, description: 'Best first; default both' }),
  ),
  srtp: Type.Optional(
    Enum(['never', 'offer', 'require'], {
      description:
        'Encrypted audio with keys in SIP (SDES, RFC 4568): never, where the carrier can, or nothing else; use transport tls with it, as others can read the keys. Default never',
    }),
  ),
  ping_seconds: Type.Optional(count(5, 3600, 'How often OPTIONS asks whether it lives; default 30')),
  channels: Type.Optional(count(1, 100_000, 'Calls at a time; default no limit')),
  prefixes: Type.Optional(prefixes),
  priority: Type.Optional(priority),
  sandbox: Type.Optional(sandboxed),
})
