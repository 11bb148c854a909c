import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { parsePhoneNumber } from '@trunkline/phone/phone.ts'
import { readReports } from '@trunkline/rtp/rtcp.ts'
import { isRtcp, readRtp } from '@trunkline/rtp/rtp.ts'
import { readAudio } from '@trunkline/rtp/sdp.ts'
import { readBinding } from '@trunkline/rtp/stun.ts'
import { readAuth } from '@trunkline/sip/digest/digest.ts'
import { DigestClient } from '@trunkline/sip/digest/digest-client.ts'
import type { SipRequest } from '@trunkline/sip/message.ts'
import { MessageFramer as SipFrames } from '@trunkline/sip/message-framer.ts'
import { parseMessage as parseSip } from '@trunkline/sip/parse.ts'
import { decodePdu as decodeSmpp } from '@trunkline/smpp/decode.ts'
import { encodePdu as encodeSmpp } from '@trunkline/smpp/encode.ts'
import { noTlvs, tags } from '@trunkline/smpp/pdu.ts'
import { PduFramer as SmppFrames } from '@trunkline/smpp/pdu-framer.ts'
import { isReceipt, readReceipt } from '@trunkline/smpp/receipt.ts'
import { readUserData } from '@trunkline/smpp/user-data.ts'
import { parseJid } from '@trunkline/xmpp/jid.ts'
import { StreamParseError, StreamParser } from '@trunkline/xmpp/stream-parser.ts'
import { readDocument, readErrors } from '../src/adapters/didww/json-api.ts'
import { type HandshakeMessage as Flight, Flights } from '../src/adapters/media/embedded/flights.ts'
import { decode as decodeBencode } from '../src/adapters/media/rtpengine/bencode.ts'
import { filterSdp, withDirection } from '../src/adapters/media/rtpengine/sdp-filter.ts'
import { dtmfKeyOf } from '../src/adapters/sip-gateway/calls/call-leg.ts'
import { makeDelivery } from '../src/adapters/smpp/testing.ts'
import { parseWebhook } from '../src/adapters/whatsapp-cloud/codec/webhook-payload.ts'
import { makeAddresses } from '../src/adapters/xmpp/addresses.ts'
import { parseMessage } from '../src/adapters/xmpp/message-parser.ts'
import { readDetail } from '../src/domains/contacts/details.ts'
import { readCsv } from '../src/domains/contacts/files/contact-csv.ts'
import { readVcards } from '../src/domains/contacts/files/vcard.ts'
import { parseHeader } from '../src/domains/numbers/imports/import-header.ts'
import { parsePrices } from '../src/domains/numbers/pricing/price-file.ts'
import { byteRangeOf } from '../src/platform/http/range.ts'
import { linesOf, UnreadableCsv } from '../src/platform/lib/csv.ts'
import { readCursor } from '../src/platform/lib/cursor.ts'
import { fold } from '../src/platform/lib/fold.ts'
import { readTarget } from '../src/platform/lib/outbound-target.ts'
import { readText } from '../src/platform/lib/text-encoding.ts'
import { makeWorld } from './world.ts'

// Every parser of untrusted bytes takes linear time: twice the input takes at most 2.5 times as long. A parser with a
// size limit is measured below its limit.

const most = 2.5

/**
 * The duration of a measurement, ms; shorter runs are repeated. The shortest of several counts: a disturbance only adds
 * time.
 */
const enough = 1
const turns = 3
/** CPU time of a measurement, ms, for a case whose every measurement was disturbed. */
const longEnough = 150

type Case = {
  readonly name: string
  /** The middle size, in the unit of the input: half of it and its double are compared. */
  readonly size: number
  readonly make: (size: number) => () => unknown
}

const cases: Case[] = []

const text = (
  reader: string,
  read: (text: string) => unknown,
  size: number,
  shapes: Readonly<Record<string, (size: number) => string>>,
) => {
  for (const [shape, make] of Object.entries(shapes))
    cases.push({
      name: `${reader}: ${shape}`,
      size,
      make: (count) => {
        const input = make(count)
        return () => read(input)
      },
    })
}

const many = (count: number, one: string | ((index: number) => string)): string =>
  typeof one === 'string' ? one.repeat(count) : Array.from({ length: count }, (_, index) => one(index)).join('')

const pieces = (octets: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(octets.length / size) }, (_, i) => octets.subarray(i * size, (i + 1) * size))

const readAll = async (read: (body: Readable) => AsyncIterable<unknown>, input: readonly Buffer[]) => {
  try {
    for await (const _ of read(Readable.from(input)));
  } catch (error) {
    if (!(error instanceof UnreadableCsv)) throw error
  }
}

// XML.

const stream = "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
const addresses = makeAddresses({ mode: 'client', host: 'h', port: 1, domain: 'localhost' })
const about = { addresses, at: 1, own: false, isKnown: () => false, archived: null }

const readXml = (stanza: string, size = 65_536) => {
  const reader = new StreamParser({ opened: () => {}, stanza: (one) => parseMessage(one, about), closed: () => {} })
  try {
    for (const piece of pieces(Buffer.from(stream + stanza), size)) reader.write(piece)
  } catch (error) {
    if (!(error instanceof StreamParseError)) throw error
  }
}
const inMessage = (inner: string): string => `<message from='a@localhost'>${inner}</message>`

text('XML', readXml, 1_600, {
  'nested elements': (n) => inMessage(`${many(n, '<a>')}${many(n, '</a>')}`),
  'nested elements that never end': (n) => inMessage(many(n, '<a>')),
  'nested elements, each with a prefix': (n) => inMessage(`${many(n, "<q:a xmlns:q='u'>")}${many(n, '</q:a>')}`),
  'attributes with the prefix of the outermost': (n) =>
    `<message xmlns:q='u'>${many(n, "<a q:b=''>")}${many(n, '</a>')}</message>`,
  'elements with deep siblings': (n) => inMessage(`${many(n, '<a>')}${many(n, '<b/>')}${many(n, '</a>')}`),
  'sibling elements': (n) => inMessage(many(n, '<a/>')),
  'stored elements': (n) => inMessage(many(n >> 1, '<a/>')),
  attributes: (n) => `<message ${many(n, (i) => `a${i}='' `)}/>`,
  prefixes: (n) => inMessage(`<a ${many(n, (i) => `xmlns:a${i}='u' `)}/>`),
  'a long name': (n) => inMessage(`<${many(n * 8, 'a')}/>`),
  'a long attribute': (n) => `<message id='${many(n * 8, 'a')}'/>`,
  'an attribute that never ends': (n) => `<message id='${many(n * 8, 'a')}`,
  'a long text': (n) => inMessage(`<body>${many(n * 8, 'a')}</body>`),
  entities: (n) => inMessage(`<body>${many(n, '&amp;')}</body>`),
  'entities of an attribute': (n) => `<message id='${many(n, '&lt;')}'/>`,
  'an entity that never ends': (n) => inMessage(`&${many(n * 8, 'a')}`),
  'sections of character data': (n) => inMessage(many(n, '<![CDATA[]]>')),
  'a section that never ends': (n) => inMessage(`<![CDATA[${many(n * 8, ']')}`),
  'white space': (n) => inMessage(`<a${many(n * 8, ' ')}/>`),
  'ends of lines': (n) => inMessage(many(n * 4, '\r\n')),
  delays: (n) =>
    inMessage(many(n >> 1, "<delay xmlns='urn:xmpp:delay' from='localhost' stamp='2026-01-01T00:00:00Z'/>")),
  receipts: (n) => inMessage(many(n >> 1, "<received xmlns='urn:xmpp:receipts' id='1'/>")),
  stanzas: (n) => many(n >> 1, inMessage('<body>b</body>')),
})
text('XML in pieces of one octet', (input) => readXml(input, 1), 500, {
  'a long text': (n) => inMessage(`<body>${many(n * 8, 'a')}</body>`),
  'a long attribute': (n) => `<message id='${many(n * 8, 'a')}'/>`,
  'nested elements': (n) => inMessage(`${many(n, '<a>')}${many(n, '</a>')}`),
})
text('JID', parseJid, 100_000, {
  'a long name': (n) => many(n, 'a'),
  slashes: (n) => many(n, '/'),
  ats: (n) => many(n, '@'),
})

// SIP.

const sip = (headers: string, body = ''): string =>
  [
    'INVITE sip:a@b.test SIP/2.0',
    'Via: SIP/2.0/UDP c.test;branch=z9hG4bK1',
    'From: <sip:d@e.test>;tag=1',
    'To: <sip:a@b.test>',
    'Call-ID: 1',
    'CSeq: 1 INVITE',
    `${headers}Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
const header = (name: string, value: string): string => `${name}: ${value}\r\n`
const readSip = (input: string) => parseSip(Buffer.from(input))
const contact = (value: string) => sip(header('Contact', value))

text('SIP', readSip, 6_000, {
  'a long header': (n) => sip(header('X-A', many(n, 'a'))),
  'folded lines': (n) => sip(`X-A: b\r\n${many(n >> 2, ' c\r\n')}`),
  'a folded line of spaces': (n) => sip(`X-A: b\r\n${many(n, ' ')}\r\n`),
  'many headers': (n) => sip(many(n >> 2, 'a:b\r\n')),
  'empty lines before': (n) => `${many(n >> 1, '\r\n')}${sip('')}`,
  'a name of spaces': (n) => sip(`X${many(n, ' ')}: b\r\n`),
  'a method of spaces': (n) => `INVITE${many(n, ' ')}sip:a@b SIP/2.0\r\n\r\n`,
  'a long Request-URI': (n) => sip('').replace('sip:a@b.test', `sip:${many(n, 'a')}@b.test`),
  'parameters of the URI': (n) => sip('').replace('sip:a@b.test', `sip:a@b.test${many(n >> 3, (i) => `;a${i}=b`)}`),
  'headers of the URI': (n) => sip('').replace('sip:a@b.test', `sip:a@b.test?${many(n >> 2, 'a=b&')}`),
  'a host of labels': (n) => contact(`<sip:${many(n >> 1, 'a.')}b>`),
  'a host of dashes': (n) => contact(`<sip:a${many(n, '-')}>`),
  'a host of spaces': (n) => contact(`<sip:a${many(n, ' ')}x>`),
  'a Via of spaces': (n) => sip(header('Via', `SIP/2.0/UDP a${many(n, ' ')}x`)),
  'a Via of spaces before its host': (n) => sip(header('Via', `SIP/2.0/UDP${many(n, ' ')}`)),
  'many Vias': (n) => sip(header('Via', many(n >> 4, 'SIP/2.0/UDP a,'))),
  'many contacts': (n) => contact(many(n >> 3, '<sip:a>,')),
  'parameters of a contact': (n) => contact(`<sip:a@b>${many(n >> 3, (i) => `;a${i}=b`)}`),
  'one parameter of spaces': (n) => contact(`<sip:a@b>;a${many(n, ' ')}b`),
  'brackets that are not closed': (n) => contact(many(n, '<')),
  'quotes that are not closed': (n) => contact(many(n, '"')),
  'one quote that is not closed': (n) => contact(`"${many(n, 'a')}`),
  'escapes that are not closed': (n) => contact(`"${many(n, '\\')}`),
  'quoted names': (n) => contact(`${many(n >> 2, '"a" ')}<sip:a>`),
  'quoted names without an address': (n) => contact(many(n >> 2, '"a" ')),
  'a long number': (n) => sip(header('Max-Forwards', many(n, '1'))),
  'a long CSeq': (n) => sip('').replace('CSeq: 1', `CSeq: ${many(n, '1')}`),
  'an RAck of spaces': (n) => sip(header('RAck', `1${many(n, ' ')}2`)),
  'a long tag': (n) => sip('').replace('tag=1', `tag=${many(n, '1')}`),
  commas: (n) => sip(header('Route', many(n, ','))),
})
text(
  'SIP over TCP',
  (input) => {
    const frames = new SipFrames(parseSip, () => {})
    for (const piece of pieces(Buffer.from(input), 1)) if (!frames.push(piece)) return
  },
  4_000,
  {
    'a head in pieces of one octet': (n) => sip(header('X-A', many(n, 'a'))),
    'a body in pieces of one octet': (n) => sip('', many(n, 'a')),
    'a head that never ends': (n) => many(n, 'a'),
    'keep-alives': (n) => many(n >> 1, '\r\n'),
  },
)
text('Digest', readAuth, 30_000, {
  parameters: (n) => `Digest ${many(n >> 3, (i) => `a${i}=b,`)}`,
  'a quote that is not closed': (n) => `Digest a="${many(n, 'b')}`,
  escapes: (n) => `Digest a="${many(n >> 1, '\\"')}"`,
  spaces: (n) => `Digest${many(n, ' ')}a`,
  commas: (n) => `Digest ${many(n, ',')}`,
})
const request: SipRequest = { kind: 'request', method: 'INVITE', uri: 'sip:a@b', headers: [], body: Buffer.alloc(0) }
const challenged = (qop: string) => {
  const value = `Digest realm="r", nonce="n", qop="${qop}"`
  const response = {
    kind: 'response',
    status: 401,
    reason: '',
    headers: [['WWW-Authenticate', value]],
    body: Buffer.alloc(0),
  } as const
  new DigestClient({ username: 'u', password: 'p' }).answer(request, response)
}
text('a challenge', challenged, 15_000, {
  'options of spaces': (n) => `auth${many(n, ' ')}x`,
  'many options': (n) => many(n >> 1, 'a,'),
})
const pressed = (type: string) => (body: string) =>
  dtmfKeyOf({ ...request, method: 'INFO', headers: [['Content-Type', type]], body: Buffer.from(body) })
for (const type of ['application/dtmf-relay', 'application/dtmf'])
  text(type, pressed(type), 15_000, {
    'empty lines': (n) => many(n, '\n'),
    'lines of spaces': (n) => many(n >> 1, ' \n'),
    'a key of spaces': (n) => `Signal${many(n, ' ')}`,
    'spaces behind a key': (n) => `Signal=1${many(n, ' ')}x`,
    'many keys': (n) => many(n >> 3, 'Signal=\n'),
  })

// SDP.

const sdp = (types: string, lines: string): string =>
  `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 9 RTP/AVP ${types}\r\n${lines}`
const shapesOfSdp = {
  'many types': (n: number) => sdp(many(n, '8 '), ''),
  'many types with many attributes': (n: number) => sdp(many(n >> 1, '96 '), many(n >> 5, 'a=rtpmap:97 A/8000\r\n')),
  'types that differ': (n: number) =>
    sdp(
      many(n >> 3, (i) => `${i} `),
      many(n >> 5, (i) => `a=rtpmap:${i} A/8000\r\n`),
    ),
  'empty lines': (n: number) => sdp('8', many(n, '\n')),
  'a long line': (n: number) => sdp('8', `a=${many(n, 'a')}`),
  'a line of spaces': (n: number) => sdp('8', `a=fingerprint:${many(n, ' ')}x`),
  'many media': (n: number) => sdp('8', many(n >> 2, 'm=a\r\n')),
  fingerprints: (n: number) => sdp('8', `a=ice-ufrag:a\r\na=ice-pwd:b\r\n${many(n >> 4, 'a=fingerprint:a b\r\n')}`),
}
text('SDP', readAudio, 6_000, shapesOfSdp)
text('SDP for rtpengine', (input) => filterSdp(input, ['pcma']), 6_000, shapesOfSdp)
text('the direction of SDP', (input) => withDirection(input, 'sendonly'), 6_000, shapesOfSdp)

// SMPP.

const withText = (words: string) => {
  const pdu = {
    ...makeDelivery(5),
    esmClass: 4,
    shortMessage: Buffer.alloc(0),
    tlvs: new Map([[tags.message_payload, Buffer.from(words)]]),
  }
  const read = decodeSmpp(encodeSmpp(pdu))
  if (!('fault' in read) && read.command === 'deliver_sm') {
    isReceipt(read)
    readReceipt(read)
  }
}
text('SMPP receipt', withText, 6_000, {
  'a long id': (n) => `id:${many(n, 'a')} stat:DELIVRD`,
  'an id that does not end as it should': (n) => `id:${many(n, 'a')}:`,
  'an id of spaces': (n) => `id${many(n, ' ')}x`,
  'many ids': (n) => many(n >> 2, 'id: '),
  'ids that end in colons': (n) => many(n >> 3, 'id:aaaa:'),
  'many states': (n) => many(n >> 3, 'stat : 1'),
  'an error of spaces': (n) => `id:1 err${many(n, ' ')}`,
  zeros: (n) => `id:1 err:${many(n, '0')}1`,
})
const tlv = (length: number): Buffer => {
  const octets = Buffer.alloc(4 + length)
  octets.writeUInt16BE(0x1400)
  octets.writeUInt16BE(length, 2)
  return octets
}
const bodyOf = (tail: Buffer): Buffer => {
  const octets = Buffer.concat([encodeSmpp({ ...makeDelivery(5), tlvs: noTlvs }), tail])
  octets.writeUInt32BE(octets.length)
  return octets
}
const octets = (
  reader: string,
  read: (octets: Buffer) => unknown,
  size: number,
  shapes: Readonly<Record<string, (size: number) => Buffer>>,
) => {
  for (const [shape, make] of Object.entries(shapes))
    cases.push({
      name: `${reader}: ${shape}`,
      size,
      make: (count) => {
        const input = make(count)
        return () => read(input)
      },
    })
}
octets('SMPP', decodeSmpp, 15_000, {
  'empty parameters': (n) => bodyOf(Buffer.concat(Array.from({ length: n >> 2 }, () => tlv(0)))),
  'a long parameter': (n) => bodyOf(tlv(n)),
  'a body of zeros': (n) => bodyOf(Buffer.alloc(n)),
})
octets(
  'SMPP text',
  (header) =>
    readUserData({
      ...makeDelivery(5),
      esmClass: 0x40,
      shortMessage: Buffer.alloc(0),
      tlvs: new Map([[tags.message_payload, header]]),
    }),
  15_000,
  {
    'empty elements of the header': (n) => Buffer.concat([Buffer.of(254), Buffer.alloc(n)]),
    escapes: (n) => Buffer.concat([Buffer.of(0), Buffer.alloc(n, 0x1b)]),
  },
)
octets(
  'SMPP stream',
  (input) => {
    const frames = new SmppFrames(decodeSmpp)
    for (const piece of pieces(input, 1)) frames.push(piece)
  },
  8_000,
  {
    'a PDU in pieces of one octet': (n) => bodyOf(tlv(n)),
    'empty PDUs': (n) =>
      Buffer.concat(
        Array.from({ length: n >> 4 }, () => encodeSmpp({ command: 'enquire_link', sequence: 1, status: 0 })),
      ),
  },
)

// Media.

const rtcp = Buffer.alloc(8)
rtcp.writeUInt16BE(0x80c9)
rtcp.writeUInt16BE(1, 2)
octets('RTCP', (packet) => isRtcp(packet) && readReports(packet), 16_000, {
  'empty reports': (n) => Buffer.concat(Array.from({ length: n >> 3 }, () => rtcp)),
})
octets('RTP', readRtp, 16_000, {
  padding: (n) => Buffer.concat([Buffer.of(0xa0, 0), Buffer.alloc(n, 0xff)]),
  'an extension': (n) => Buffer.concat([Buffer.of(0x90, 0), Buffer.alloc(n, 1)]),
})
octets('STUN', readBinding, 16_000, {
  'empty attributes': (n) => {
    const packet = Buffer.alloc(20 + n * 2)
    packet.writeUInt16BE(1)
    packet.writeUInt16BE(n * 2, 2)
    packet.writeUInt32BE(0x2112a442, 4)
    return packet
  },
})
const flight = (seq: number, offset: number): Flight => ({
  ...{ msg_type: 11, length: 30_000, message_seq: seq, fragment_offset: offset, fragment_length: 1 },
  ...{ fragment: Buffer.alloc(1), serialize: () => Buffer.alloc(0) },
})
cases.push({
  name: 'DTLS: fragments of one octet',
  size: 4_000,
  make: (n) => {
    const fragments = Array.from({ length: n }, (_, i) => flight(i % 8, i >> 3))
    return () => {
      const flights = new Flights()
      for (const one of fragments) flights.take(one)
    }
  },
})
const isBencoded = (input: string) => {
  try {
    decodeBencode(Buffer.from(input))
  } catch (error) {
    assert.ok(error instanceof Error && /bencode/.test(error.message), String(error))
  }
}
text('bencode', isBencoded, 16_000, {
  'nested lists': (n) => many(n, 'l'),
  'a list': (n) => `l${many(n >> 1, '1:a')}e`,
  'a dictionary': (n) => `d${many(n >> 3, (i) => `${String(i).length}:${i}1:a`)}e`,
  numbers: (n) => `l${many(n >> 2, 'i1e')}e`,
  'a length that never ends': (n) => many(n, '1'),
  'empty texts': (n) => `l${many(n, '0:')}e`,
})

// Files.

const files = (
  reader: string,
  read: (body: Readable) => AsyncIterable<unknown>,
  size: number,
  shapes: Readonly<Record<string, (size: number) => string>>,
) => {
  for (const [shape, make] of Object.entries(shapes))
    for (const piece of [65_536, 64])
      cases.push({
        name: `${reader} in pieces of ${piece}: ${shape}`,
        size: piece === 64 ? size >> 5 : size >> 2,
        make: (count) => {
          const input = pieces(Buffer.from(make(count)), piece)
          return () => readAll(read, input)
        },
      })
}
const card = (inner: string): string => `BEGIN:VCARD\r\nVERSION:2.1\r\nFN:A\r\n${inner}\r\nEND:VCARD\r\n`
files('vCard', (body) => readVcards(readText(body), { ignored: new Set() }, { country: 'GB' }), 16_000, {
  'folded lines': (n) => card(`NOTE:a${many(n, '\r\n b')}`),
  'empty folded lines': (n) => card(`NOTE:a${many(n, '\r\n ')}`),
  'soft ends of lines': (n) => card(`NOTE;ENCODING=QUOTED-PRINTABLE:a${many(n, '=\r\nb')}`),
  'soft ends of empty lines': (n) => card(`NOTE;ENCODING=QUOTED-PRINTABLE:a${many(n, '=\r\n')}`),
  'soft ends without a value': (n) => card(`NOTE;ENCODING=QUOTED-PRINTABLE${many(n, '=\r\nb')}`),
  'a long line': (n) => card(`NOTE:${many(n * 4, 'a')}`),
  parameters: (n) => card(`TEL${many(n >> 1, (i) => `;A${i}=b`)}:1`),
  'quotes that are not closed': (n) => card(`TEL;A="${many(n, '"a')}`),
  escapes: (n) => card(`N:${many(n, '\\;')}`),
  components: (n) => card(`ADR:${many(n * 2, ';')}`),
  numbers: (n) => card(many(n >> 3, 'TEL:+447700900123\r\n')),
  'invalid numbers': (n) => card(many(n >> 3, 'TEL:+4477x\r\n')),
  'a number of spaces': (n) => card(`TEL:${many(n * 2, ' ')}1`),
  'words of a name': (n) => card(`FN:${many(n, 'a ')}`),
  'empty lines': (n) => many(n, '\r\n'),
  'empty cards': (n) => many(n >> 4, card('')),
  carets: (n) => card(`TEL;A=${many(n, '^n')}:1`),
})
const columns = 'first_name,phone\r\n'
files('CSV of contacts', (body) => readCsv(readText(body), { ignored: new Set() }, { country: 'GB' }), 16_000, {
  'a quote that is not closed': (n) => `${columns}A,"${many(n * 4, 'a')}`,
  quotes: (n) => `${columns}A,"${many(n * 2, '""')}"`,
  'quotes within': (n) => `${columns}A,a${many(n * 2, '"')}`,
  columns: (n) => `${many(n >> 4, 'phone,')}first_name\r\n`,
  cells: (n) => `${columns}${many(n >> 4, ',')}\r\n`,
  'more columns than a file may have': (n) => `${columns}${many(n * 4, ',')}\r\n`,
  'lines that are shorter than the head': (n) => `${columns}${many(n, 'A\n')}`,
  'values of a cell': (n) => `${columns}A,${many(n >> 2, '1 ::: ')}\r\n`,
  'national numbers': (n) => `${columns}${many(n >> 6, 'A,07700 900123\r\n')}`,
  spaces: (n) => `${columns}A,${many(n * 2, ' ')}1\r\n`,
  'spaces behind a quote': (n) => `${columns}A,"1"${many(n * 2, ' ')}\r\n`,
  'empty lines': (n) => `${columns}${many(n, '\n')}`,
  guards: (n) => `${columns}A,${many(n * 2, "'")}=\r\n`,
})
files('CSV of numbers', (body) => linesOf(readText(body)), 16_000, {
  'a long line': (n) => many(n * 4, 'a'),
  'short lines': (n) => many(n, 'a\n'),
  cells: (n) => many(n >> 4, 'a,'),
})
text('the head of an inventory', (input) => parseHeader(input.split(',')), 500, {
  'unknown columns': (n) => many(n, 'featurez,'),
  'a long column': (n) => many(n * 8, 'a'),
})
const prices = async (csv: string) => {
  try {
    await parsePrices(csv)
  } catch (error) {
    if (!(error instanceof UnreadableCsv)) throw error
  }
}
text('CSV of prices', prices, 4_000, {
  columns: (n) => `${many(n >> 4, (i) => `a${i},`)}b\r\n`,
  lines: (n) => `country,type\r\n${many(n >> 4, 'GB,local\r\n')}`,
  'a quote that is not closed': (n) => `country,type\r\nGB,"${many(n * 4, 'a')}`,
  spaces: (n) => `country,type\r\nGB,${many(n * 2, ' ')}x\r\n`,
})

// JSON of networks and suppliers.

const notice = (value: string): string =>
  `{"entry":[{"changes":[{"value":{"metadata":{"display_phone_number":"1555"},${value}}}]}]}`
text('callbacks of WhatsApp', (input) => parseWebhook(JSON.parse(input)), 8_000, {
  messages: (n) =>
    notice(`"messages":[${many(n >> 3, '{"id":"1","from":"15551230000","type":"text","text":{"body":"a"}},')}{}]`),
  contacts: (n) =>
    notice(
      `"contacts":[${many(n >> 3, (i) => `{"wa_id":"${i}","profile":{"name":"a"}},`)}{}],"messages":[{"id":"1","from":"1"}]`,
    ),
  'nested lists': (n) => notice(`"messages":${many(n, '[')}${many(n, ']')}`),
  'a long number': (n) => notice('"calls":[]').replace('1555', many(n * 4, '1-')),
  statuses: (n) => notice(`"statuses":[${many(n >> 3, '{"id":"1","status":"failed","errors":[{"code":1}]},')}{}]`),
})
const readAnswer = (input: string) => {
  const value: unknown = JSON.parse(input)
  readErrors(value)
  for (const one of readDocument(value).data) one.related('groups')
}
text('answers of DIDWW', readAnswer, 8_000, {
  resources: (n) => `{"data":[${many(n >> 3, '{"id":"1","type":"a"},')}{"id":"1","type":"a"}]}`,
  'references to included resources': (n) =>
    `{"data":{"id":"1","type":"a","relationships":{"groups":{"data":[${many(n >> 3, (i) => `{"id":"${i}","type":"g"},`)}1]}}},"included":[${many(n >> 3, (i) => `{"id":"${i}","type":"g"},`)}{"id":"a","type":"g"}]}`,
  errors: (n) => `{"data":[],"errors":[${many(n >> 2, '{"detail":"a"},')}1]}`,
})

// Parts of requests.

text('cursor', (input) => readCursor('list', input), 50_000, {
  'a long one': (n) => many(n, 'A'),
  separators: (n) => Buffer.from(many(n, '|')).toString('base64url'),
})
text('phone number', (input) => [parsePhoneNumber(input), parsePhoneNumber(input, 'GB')], 50_000, {
  digits: (n) => many(n, '1'),
  spaces: (n) => many(n, ' '),
  pluses: (n) => many(n, '+'),
  brackets: (n) => many(n, '(0)'),
})
text('e-mail address', (input) => readDetail('E', input), 50_000, {
  'a long one': (n) => many(n, 'a@'),
  spaces: (n) => `a${many(n, ' ')}b`,
})
text('Range', (input) => byteRangeOf({ range: input }, 100), 50_000, {
  digits: (n) => `bytes=${many(n, '1')}`,
  spaces: (n) => `bytes=${many(n, ' ')}1`,
  parts: (n) => `bytes=0-1${many(n, ',0-1')}`,
})
text('name', fold, 20_000, {
  punctuation: (n) => many(n, '.'),
  accents: (n) => `a${many(n, '\u0301')}`,
  spaces: (n) => `é${many(n, ' ')}x`,
})
text('web address', (input) => readTarget(input, { allowPrivate: false, http: true }), 20_000, {
  'a long path': (n) => `http://a.test/${many(n, '../')}`,
  'a long host': (n) => `http://${many(n, 'a.')}test/`,
  'a user': (n) => `http://${many(n, 'a@')}test/`,
})

const world = await makeWorld()
const { key } = await world.tenant()
const ask =
  (payload: string, headers: Record<string, string> = {}) =>
  async () => {
    const answer = await world.app.inject({
      ...{ method: 'POST', url: '/open/sms/send', payload },
      headers: { 'x-user-api-key': key, 'content-type': 'application/json', ...headers },
    })
    assert.ok(answer.statusCode >= 400 && answer.statusCode < 500, `${answer.statusCode}`)
  }
const bodies: Record<string, (n: number) => string> = {
  'nested lists': (n) => `${many(n, '[')}${many(n, ']')}`,
  'nested objects': (n) => `${many(n >> 2, '{"a":')}1${many(n >> 2, '}')}`,
  'many fields': (n) => `{${many(n >> 3, (i) => `"a${i}":1,`)}"b":1}`,
  'a long text': (n) => `{"text":"${many(n, 'a')}"}`,
  escapes: (n) => `{"text":"${many(n >> 3, '\\u0061')}"}`,
  prototypes: (n) => `{${many(n >> 4, '"__proto__":1,')}"b":1}`,
  'a text that is not closed': (n) => `{"text":"${many(n, '\\"')}`,
  'white space': (n) => `${many(n, ' ')}1`,
  'halves of pairs': (n) => `{"text":"${many(n >> 3, '\\ud83d')}"}`,
  numbers: (n) => `[${many(n, '1')}]`,
}
for (const [shape, make] of Object.entries(bodies))
  cases.push({ name: `JSON body: ${shape}`, size: 12_000, make: (n) => ask(make(n)) })
const heads: Record<string, (n: number) => Record<string, string>> = {
  'a Content-Type of parameters': (n) => ({ 'content-type': `application/json${many(n, ';a=b')}` }),
  'a Content-Type of spaces': (n) => ({ 'content-type': `application/json;${many(n, ' ')}x` }),
  'a Content-Type of quotes': (n) => ({ 'content-type': `application/json;a="${many(n, '\\"')}` }),
  'a multipart Content-Type': (n) => ({ 'content-type': `multipart/form-data; boundary=${many(n, '-')}` }),
  'a long key': (n) => ({ 'x-user-api-key': many(n, 'a') }),
  'Basic credentials': (n) => ({ authorization: `Basic ${many(n, 'QQ==')}` }),
  'a Bearer of dots': (n) => ({ authorization: `Bearer ${many(n, '.')}` }),
  'a Bearer of spaces': (n) => ({ authorization: `Bearer${many(n, ' ')}` }),
  'an Accept of types': (n) => ({ accept: many(n, 'a/b,') }),
  'an Accept-Encoding of codings': (n) => ({ 'accept-encoding': many(n, 'gzip;q=0,') }),
  'a forwarded address of addresses': (n) => ({ 'x-forwarded-for': many(n, '10.0.0.1,') }),
  'an Origin': (n) => ({ origin: `http://${many(n, 'a.')}test` }),
  'an idempotency key': (n) => ({ 'idempotency-key': many(n, 'a') }),
}
for (const [shape, make] of Object.entries(heads))
  cases.push({ name: `HTTP head: ${shape}`, size: 4_000, make: (n) => ask('{}', make(n)) })

/** The duration of one of several runs, ms. */
const timeOf = async (run: () => unknown, times: number): Promise<number> => {
  const began = performance.now()
  for (let i = 0; i < times; i++) {
    const ran = run()
    if (ran instanceof Promise) await ran
  }
  return (performance.now() - began) / times
}

const repeats = async (run: () => unknown): Promise<number> => {
  for (let times = 1; ; times *= 4) {
    const ms = (await timeOf(run, times)) * times
    if (ms >= enough / 4 || times > 100_000) return Math.max(1, Math.ceil((times * enough) / ms))
  }
}

/**
 * The ratio by CPU time, which is counted in ticks of up to 10 ms: with enough repetitions one tick more or less is
 * irrelevant.
 */
const ratioByProcessor = async (single: () => unknown, double: () => unknown, times: number): Promise<number> => {
  const fewer = Math.max(1, times >> 2)
  const spent = async (run: () => unknown, count: number): Promise<number> => {
    const began = process.threadCpuUsage()
    await timeOf(run, count)
    const { user, system } = process.threadCpuUsage(began)
    return (user + system) / 1000
  }
  let [one, two] = [0, 0]
  while (one < longEnough) {
    one += await spent(single, times)
    two += await spent(double, fewer)
  }
  return Math.sqrt(two / fewer / (one / times))
}

/**
 * The factor by which doubling the input lengthens the run, averaged over two doublings. Uses the shortest measurement,
 * or CPU time where measurements were disturbed.
 */
const ratioOf = async ({ size, make }: Case): Promise<number> => {
  const [single, double] = [make(size >> 1), make(size * 2)]
  const times = await repeats(single)
  let [least, more] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let turn = 0; turn < turns; turn++) {
    least = Math.min(least, await timeOf(single, times))
    more = Math.min(more, await timeOf(double, Math.max(1, times >> 2)))
  }
  const ratio = Math.sqrt(more / least)
  return ratio <= most * 0.9 ? ratio : Math.min(ratio, await ratioByProcessor(single, double, times * 2))
}

test(`twice the input takes at most ${most} times as long: ${cases.length} inputs of every grammar`, async (t) => {
  const found: { name: string; ratio: number }[] = []
  for (const one of cases) {
    let ratio = await ratioOf(one)
    // A quadratic parser stays at a factor of 4.
    for (let left = 3; left > 0 && ratio > most; left--) ratio = Math.min(ratio, await ratioOf(one))
    found.push({ name: one.name, ratio })
  }
  found.sort((a, b) => b.ratio - a.ratio)
  const worst = found.slice(0, 5).map(({ name, ratio }) => `${ratio.toFixed(2)} ${name}`)
  t.diagnostic(`the worst: ${worst.join('; ')}`)
  assert.deepEqual(
    found.filter(({ ratio }) => ratio > most).map(({ name, ratio }) => `${name}: ${ratio.toFixed(2)}`),
    [],
  )
})
