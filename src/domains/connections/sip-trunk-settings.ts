import { Type } from 'typebox'
import { Enum, Named } from '../../platform/http/schema.ts'
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
} from './setting-schemas.ts'

/** Settings of a SIP trunk (RFC 3261). */
export const SipTrunk = Named(
  'SipTrunkSettings',
  Type.Object({
    host,
    port: Type.Optional(port),
    transport: Type.Optional(Enum(['udp', 'tcp', 'tls'], { description: 'Default: udp' })),
    tls_ca: Type.Optional(authority),
    tls_server_name: Type.Optional(serverName),
    username: Type.Optional(Ascii(100)),
    password: Type.Optional(password),
    register: Type.Optional(
      Type.Boolean({
        description: 'Registers with the carrier, so that it can route calls to us; requires username and password',
      }),
    ),
    allowed_addresses: Type.Optional(
      Type.Array(Type.String({ pattern: '^[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?$' }), {
        maxItems: 200,
        description:
          'IP addresses or networks that calls may come from, in addition to the addresses of host; others get no answer',
        examples: [['203.0.113.0/28']],
      }),
    ),
    from_domain: Type.Optional(Domain('Host of our From and P-Asserted-Identity. Default: ours')),
    numbers: Type.Optional(
      Enum(['e164', 'plus', 'national'], {
        description:
          'How numbers are written: digits with the country code, the same after a +, or as dialled in the country of calling_code. Default: plus',
      }),
    ),
    calling_code: Type.Optional(callingCode),
    codecs: Type.Optional(
      Type.Array(Enum(['pcmu', 'pcma']), {
        minItems: 1,
        maxItems: 2,
        description: 'In order of preference. Default: both',
      }),
    ),
    srtp: Type.Optional(
      Enum(['never', 'offer', 'require'], {
        description:
          'Encrypted audio with keys in SIP (SDES, RFC 4568): never, if the carrier supports it, or always; use transport tls with it, otherwise others can read the keys. Default: never',
      }),
    ),
    ping_seconds: Type.Optional(count(5, 3600, 'Seconds between OPTIONS requests that check the trunk. Default: 30')),
    channels: Type.Optional(count(1, 100_000, 'Concurrent calls. Default: no limit')),
    prefixes: Type.Optional(prefixes),
    priority: Type.Optional(priority),
    sandbox: Type.Optional(sandboxed),
  }),
)
