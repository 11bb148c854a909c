const octets = (address: string) => address.split('.').map(Number)
const integerOf = (address: string) => octets(address).reduce((sum, octet) => sum * 256 + octet, 0)
const hex = (number: number, width = 1) => number.toString(16).padStart(width, '0')
const join = (address: string, show: (octet: number, i: number) => string) => octets(address).map(show).join('.')

/** The digits in another script: the parser folds them. */
const written = (text: string, zero: number) =>
  text.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))

/** Spellings of an IPv4 address that parsers treat as the same address. */
export const ipv4Spellings = (address: string): string[] => {
  const [a = 0, b = 0, c = 0, d = 0] = octets(address)
  const all = integerOf(address)
  return [
    address,
    `${all}`,
    `0x${hex(all)}`,
    `0X${hex(all, 8).toUpperCase()}`,
    `0${all.toString(8)}`,
    `0x00000000${hex(all, 8)}`,
    join(address, (octet) => `0x${hex(octet)}`),
    join(address, (octet) => `0x${hex(octet, 8)}`),
    join(address, (octet) => `0${octet.toString(8)}`),
    join(address, (octet) => `0000${octet.toString(8).padStart(3, '0')}`),
    join(address, (octet, i) => (i % 2 ? `0x${hex(octet)}` : `0${octet.toString(8)}`)),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `0x${hex(a)}.${b}.0${(c * 256 + d).toString(8)}`,
    `${address}.`,
    address.replaceAll('.', '\u3002'),
    address.replaceAll('.', '\uff0e'),
    address.replaceAll('.', '\uff61'),
    written(address, 0xff10),
    written(address, 0x1d7ce),
    address.replaceAll('.', '%2e'),
    [...address].map((char) => `%${hex(char.charCodeAt(0))}`).join(''),
  ]
}

/** Spellings of an IPv4 address within an IPv6 address. */
export const ipv6Embeddings = (address: string): string[] => {
  const [a = 0, b = 0, c = 0, d = 0] = octets(address)
  const [high, low] = [hex(a * 256 + b), hex(c * 256 + d)]
  const flipped = `${hex((a * 256 + b) ^ 0xffff)}:${hex((c * 256 + d) ^ 0xffff)}`
  return [
    `[::ffff:${address}]`, // mapped
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:ffff:${high}:${low}]`,
    `[0000:0000:0000:0000:0000:FFFF:${high}:${low}]`,
    `[::ffff:0:${high}:${low}]`, // translated (RFC 2765)
    `[::${address}]`, // compatible
    `[64:ff9b::${address}]`, // NAT64
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::]`, // 6to4
    `[2002:${high}:${low}:1::1]`,
    `[2001:0:4136:e378:8000:63bf:${flipped}]`, // Teredo
    `[fe80::5efe:${high}:${low}]`, // ISATAP
  ]
}

/** Addresses (URLs) that are refused for their form, with `HOST` for an acceptable host. */
export const refusedForms: readonly string[] = [
  'ftp://HOST/',
  'file:///etc/passwd',
  'gopher://HOST:6379/_INFO',
  'data:text/plain,hello',
  'javascript:alert(1)',
  'ws://HOST/',
  'wss://HOST/',
  'dict://HOST:11211/stat',
  'ldap://HOST/',
  'tftp://HOST/x',
  'jar:http://HOST!/',
  'blob:https://HOST/x',
  'about:blank',
  'unix:/var/run/docker.sock',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/info',
  '//HOST/',
  'HOST',
  'HOST/hook',
  '/hook',
  '',
  ' ',
  'https:',
  'https://',
  'https:///',
  'https://:443/',
  'https://?',
  'https://user@HOST/',
  'https://user:password@HOST/',
  'https://:password@HOST/',
  'https://127.0.0.1@HOST/',
  'https://HOST%40127.0.0.1/',
  'https://HOST/#fragment',
  'https://HOST/#',
  'https://HOST#@127.0.0.1/',
  'https://HOST:22/',
  'https://HOST:25/',
  'https://HOST:0/',
  'https://HOST:1023/',
  'https://HOST:65536/',
  'https://HOST:-1/',
  'https://HOST:https/',
  'https://HOST: 443/',
  'https://HOST\\@127.0.0.1/',
  'https:\\\\HOST\\',
  'https://127.0.0.1\\.HOST/',
  'https://HOST/a\\b',
  'https://HOST/a b',
  ' https://HOST/',
  'https://HOST/ ',
  'https://HOST/\t',
  'ht\ttps://HOST/',
  'https://127.0\t.0.1/',
  'https://127.0\n.0.1/',
  'https://HOST/\r\nHost: 127.0.0.1',
  'https://HOST\u0000.example.com/',
  'https://HOST%00.example.com/',
  'https://HOST%0a.example.com/',
  'https://HOST%20/',
  'https://HOST%2f@127.0.0.1/',
  'https://a..example.com/',
  'https://.example.com/',
  'https://exa mple.com/',
  'https://exa<mple.com/',
  'https://example.com|127.0.0.1/',
  'https://1.2.3.4.5/',
  'https://256.256.256.256/',
  'https://4294967296/',
  'https://0x100000000/',
  'https://1.2.3.0x1ff/',
  'https://09.1.1.1/',
  'https://[::1%25lo]/',
  'https://[::1%lo]/',
  'https://[fe80::1%25eth0]/',
  'https://[::1/',
  'https://::1/',
  'https://[::ffff:127.0.0.1.]/',
  'https://[1:2:3:4:5:6:7:8:9]/',
  'https://[v1.a]/',
  'https://[]/',
  `https://HOST/${'a'.repeat(16_400)}`,
]

/** Names that no public resolver is asked about. */
export const privateNames: readonly string[] = [
  ...['localhost', 'LOCALHOST', 'localhost.', 'LocalHost.', 'a.localhost', 'a.b.localhost.', 'localhost.localdomain'],
  ...[
    '\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3',
    'loc\u00adalhost',
    'l%6fcalhost',
    'printer.local',
    'nas.lan',
  ],
  ...['redis', 'postgres', 'metadata', 'kubernetes.default.svc.cluster.local', 'host.docker.internal', 'intranet'],
  ...['metadata.google.internal', 'metadata.google.internal.', 'router.home.arpa', 'gateway.docker.internal'],
]
