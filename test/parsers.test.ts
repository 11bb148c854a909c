import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { readAudio } from '@trunkline/rtp/sdp.ts'
import { MessageFramer as SipFrames } from '@trunkline/sip/message-framer.ts'
import { withSdpPart } from '@trunkline/sip/multipart.ts'
import { parseMessage as parseSip } from '@trunkline/sip/parse.ts'
import { makeRandom, mutate } from '@trunkline/sip/testing.ts'
import { invite, octets, tortureMessages } from '@trunkline/sip/user-agent/testing.ts'
import { decodePdu as decodeSmpp } from '@trunkline/smpp/decode.ts'
import { encodePdu as encodeSmpp } from '@trunkline/smpp/encode.ts'
import { noTlvs, tags } from '@trunkline/smpp/pdu.ts'
import { PduFramer as SmppFrames } from '@trunkline/smpp/pdu-framer.ts'
import { isReceipt, readReceipt } from '@trunkline/smpp/receipt.ts'
import { readUserData } from '@trunkline/smpp/user-data.ts'
import { StreamParseError, StreamParser } from '@trunkline/xmpp/stream-parser.ts'
import { makeDelivery } from '../src/adapters/smpp/testing.ts'
import { makeAddresses } from '../src/adapters/xmpp/addresses.ts'
import { parseMessage } from '../src/adapters/xmpp/message-parser.ts'
import { readVcards } from '../src/domains/contacts/files/vcard.ts'
import { linesOf, maxColumns } from '../src/platform/lib/csv.ts'
import { readText } from '../src/platform/lib/text-encoding.ts'
import { csvReaders, csvShapes, fromStream, isOwn } from './fuzz/csv-readers.ts'
import { mostMs, SlowestInput } from './fuzz/slowest-input.ts'
import { randomInputs } from './needs.ts'

// Parsers alone, with damaged and enlarged inputs: each input is parsed, or refused with the parser's own error, in 50
// ms.
//
//   TRUNKLINE_FUZZ_SEED    another seed than 1; the long form takes a new one each time
//   TRUNKLINE_FUZZ_SHARE   the share of the long form to run: 1 is 6,200,000 inputs

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const share = Number(process.env.TRUNKLINE_FUZZ_SHARE ?? 1)
const seed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? (long ? randomInt(2 ** 31) : 1))
const roundsOf = (most: number): number => (long ? Math.ceil(most * share) : randomInputs(Math.ceil(most / 1_000)))

/** The number of inputs per enlarged one, of which a piece is repeated up to 64 KiB. */
const swollen = 500

type Random = (below: number) => number

const swell = (random: Random, input: Buffer): Buffer => {
  const from = random(input.length + 1)
  const until = Math.min(input.length, from + 1 + random(random(2) ? 4 : 60))
  const size = Math.max(1, until - from)
  const piece = input.subarray(from, until)
  const repeated = Buffer.concat(Array.from({ length: Math.floor((64_000 - input.length) / size) }, () => piece))
  return Buffer.concat([input.subarray(0, until), repeated, input.subarray(until)])
}

const inputOf = (random: Random, seeds: readonly Buffer[]): Buffer => {
  const input = mutate(random, seeds)
  return random(swollen) === 0 ? swell(random, input) : input
}

/**
 * Inputs and their parser.
 * @prop whole says whether an input was valid: without valid ones a fuzzer tests only the first check
 */
type Fuzz = {
  readonly name: string
  readonly rounds: number
  readonly seeds: readonly Buffer[]
  readonly read: (input: Buffer) => boolean | Promise<boolean>
  /** The input is parsed as a stream. */
  readonly isFile?: true
}

const text = (...seeds: string[]): Buffer[] => seeds.map((one) => Buffer.from(one))

/** An INVITE whose body has three parts, one of them the session description. */
const multipart = (type: string, boundary: string): Buffer =>
  octets(`INVITE sip:+33612345678@carrier.test SIP/2.0
Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKa1
From: <sip:+33187654321@us.test>;tag=abc
To: <sip:+33612345678@carrier.test>
Call-ID: 1@us.test
CSeq: 42 INVITE
Content-Type: ${type}

a preamble
--${boundary}
Content-Type: application/isup;version=itu-t92
Content-Disposition: signal;handling=optional

\0\0x
--${boundary}
Content-Type: application/sdp
Content-Disposition: session
Content-Transfer-Encoding: binary

v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
c=IN IP4 127.0.0.1
t=0 0
m=audio 4000 RTP/AVP 8 0

--${boundary}

a part without headers
--${boundary}--
`)

const address = { ton: 1, npi: 1, address: '33612345678' }
const receipt = Buffer.from(
  'id:77 sub:001 dlvrd:001 submit date:2611210930 done date:2611210930 stat:DELIVRD err:000 text:hello',
)
const plain = makeDelivery(5)
const header = "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
const about = {
  addresses: makeAddresses({ mode: 'client', host: 'h', port: 1, domain: 'localhost' }),
  ...{ at: 1, own: false, isKnown: () => false, archived: null },
}
const fuzzes: Fuzz[] = [
  {
    name: 'SIP',
    rounds: 1_000_000,
    seeds: [...tortureMessages().values(), octets(invite)],
    read: (input) => {
      new SipFrames(
        () => {},
        () => {},
      ).push(input)
      return parseSip(input).kind !== 'malformed'
    },
  },
  {
    name: 'SDP',
    rounds: 500_000,
    seeds: text(
      'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8 0 101\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=sendonly\r\n',
      'v=0\r\no=- 1 1 IN IP6 ::1\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111 8\r\nc=IN IP6 ::1\r\na=rtpmap:111 opus/48000/2\r\na=mid:0\r\na=ice-ufrag:a\r\na=ice-pwd:b\r\na=fingerprint:sha-256 AB:CD\r\na=setup:actpass\r\na=rtcp-mux\r\nm=video 0 UDP/TLS/RTP/SAVPF 96\r\n',
    ),
    read: (input) => typeof readAudio(input.toString()) !== 'string',
  },
  {
    name: 'SIP with multipart',
    rounds: 500_000,
    seeds: [
      multipart('multipart/mixed;boundary=b', 'b'),
      multipart('multipart/related; boundary="a b"', 'a b'),
      multipart('Multipart/Alternative ;boundary=--', '--'),
    ],
    read: (input) => {
      const message = parseSip(input)
      if (message.kind === 'malformed') return false
      const found = withSdpPart(message)
      return found !== message && typeof readAudio(found.body.toString()) !== 'string'
    },
  },
  {
    name: 'SMPP',
    rounds: 2_000_000,
    seeds: [
      encodeSmpp(plain),
      encodeSmpp({ ...plain, esmClass: 4, shortMessage: receipt, tlvs: new Map([[tags.message_state, Buffer.of(2)]]) }),
      encodeSmpp({ ...plain, esmClass: 0x40, shortMessage: Buffer.from('0500030702010a0b0c', 'hex') }),
      encodeSmpp({ ...plain, dataCoding: 8, tlvs: new Map([[tags.message_payload, Buffer.alloc(600, 'x')]]) }),
      encodeSmpp({ command: 'submit_sm_resp', sequence: 1, status: 0, messageId: '4711', tlvs: noTlvs }),
      encodeSmpp({
        command: 'alert_notification',
        sequence: 1,
        status: 0,
        source: address,
        esme: address,
        tlvs: noTlvs,
      }),
    ],
    read: (input) => {
      // The length field is correct, or every input would fail at the framing.
      if (input.length >= 16 && input.length <= 65_536) input.writeUInt32BE(input.length)
      let isSound = false
      new SmppFrames((frame) => {
        const pdu = decodeSmpp(frame)
        if ('fault' in pdu || (pdu.command !== 'deliver_sm' && pdu.command !== 'data_sm')) return
        isSound = true
        if (isReceipt(pdu)) readReceipt(pdu)
        readUserData(pdu)
      }).push(input)
      return isSound
    },
  },
  {
    name: 'XMPP',
    rounds: 1_000_000,
    seeds: text(
      `<message from='a@localhost/x' to='b@localhost' id='1' type='chat'><body>hi &amp; you</body><request xmlns='urn:xmpp:receipts'/><delay xmlns='urn:xmpp:delay' from='localhost' stamp='2026-01-01T00:00:00Z'/></message>`,
      `<message from='a@localhost' id='2'><received xmlns='urn:xmpp:receipts' id='tl-1'/><x:displayed xmlns:x='urn:xmpp:chat-markers:0' id='tl-1'/></message>`,
      `<message from='a@b/c' id='3'><reactions xmlns='urn:xmpp:reactions:0' id='tl-1'><reaction>x</reaction></reactions></message>`,
      `<message from='a@b/c' id='4'><body><![CDATA[http://a/b.jpg]]></body><x xmlns='jabber:x:oob'><url>http://a/b.jpg</url></x></message>`,
      `<message from='a@b/c' id='5'><body>geo:1,2</body><geoloc xmlns='http://jabber.org/protocol/geoloc'><lat>1</lat><lon>2</lon></geoloc></message>`,
    ),
    read: (input) => {
      let isSound = false
      const stanza: ConstructorParameters<typeof StreamParser>[0]['stanza'] = (one, cut) => {
        isSound = !cut && parseMessage(one, about).length > 0
      }
      const reader = new StreamParser({ opened: () => {}, stanza, closed: () => {} })
      try {
        reader.write(Buffer.from(header))
        reader.write(input)
      } catch (error) {
        if (!isOwn(error, StreamParseError)) throw error
      }
      return isSound
    },
  },
  {
    name: 'vCard',
    rounds: 600_000,
    seeds: text(
      'BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada L\r\nN:L;Ada;;;\r\nTEL;VALUE=uri:tel:+447700900123\r\nEMAIL:ada@example.com\r\nADR:;;Street 1;;;;\r\nEND:VCARD\r\n',
      'BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=utf-8;ENCODING=QUOTED-PRINTABLE:=C3=A9t=\r\n=C3=A9;A\r\nTEL;CELL:07700 900123\r\nNOTE:a\r\n b\r\nEND:VCARD\r\n',
    ),
    read: fromStream((body) => readVcards(readText(body), { ignored: new Set() }, { country: 'GB' })),
    isFile: true,
  },
  {
    name: 'CSV of contacts',
    rounds: 400_000,
    seeds: text(
      'first_name,last_name,phone,email,address\r\nAda,L,+447700900123,ada@example.com,"Street 1, ""B"""\r\nBob,,\'+447700900124 ::: 07700 900125,,\r\n',
    ),
    read: csvReaders['CSV of contacts'],
    isFile: true,
  },
  {
    name: 'CSV of numbers',
    rounds: 200_000,
    seeds: text('number,country,type,region\r\n+442079460958,GB,local,"London"\r\n+442079460959,GB,local,\r\n'),
    read: csvReaders['CSV of numbers'],
    isFile: true,
  },
  {
    name: 'CSV of prices',
    rounds: 200_000,
    seeds: text(
      'country,type,prefix,monthly_price,effective_at\r\nGB,local,44,1.50,2026-01-01T00:00:00Z\r\nUS,mobile,,2,\r\n',
    ),
    read: csvReaders['CSV of prices'],
    isFile: true,
  },
]

for (const name of Object.keys(csvReaders))
  test(`a file of 64 KiB read as ${name} holds the event loop for at most ${mostMs} ms`, async (t) => {
    // A thread of its own: node:test observes each promise, and the garbage collector holds the loop for them.
    const worker = new Worker(new URL('./fuzz/csv-holds.ts', import.meta.url), { workerData: name })
    const [holds]: { shape: string; ms: number; worst: string }[][] = await once(worker, 'message')
    for (const { shape, ms, worst } of holds ?? []) assert.ok(ms < mostMs, `${shape}: ${worst}`)
    assert.equal(holds?.length, csvShapes.length)
    t.diagnostic(holds?.at(-1)?.worst ?? '')
  })

test('a CSV with more than 1,000 columns is refused with the limit, and one with exactly 1,000 is read', async () => {
  const linesIn = (columns: number) => Array.fromAsync(linesOf(readText([`a${',b'.repeat(columns - 1)}\n`])))
  assert.equal((await linesIn(maxColumns))[0]?.cells.length, maxColumns)
  await assert.rejects(linesIn(maxColumns + 1), /the line has 1001 columns, and the limit is 1000/)
})

for (const { name, rounds: most, seeds, read, isFile = false } of fuzzes) {
  const rounds = roundsOf(most)
  test(`${rounds} damaged inputs of ${name} are parsed or refused (TRUNKLINE_FUZZ_SEED=${seed})`, async (t) => {
    const random = makeRandom(seed)
    const worst = new SlowestInput(name)
    let sound = 0
    for (let round = 0; round < rounds; round++) {
      const input = inputOf(random, seeds)
      try {
        let isSound = false
        if (isFile) await worst.runAsync(async () => (isSound = await read(input)))
        else worst.run(() => (isSound = read(input) === true))
        if (isSound) sound++
      } catch (error) {
        throw new Error(`round ${round}: ${JSON.stringify(input.toString('latin1').slice(0, 4_000))}`, { cause: error })
      }
      if (round % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    t.diagnostic(`${worst}, ${sound} were sound`)
    assert.ok(sound > 0 && sound < rounds, `${sound} of ${rounds} were sound`)
    assert.ok(worst.ms < mostMs, `${worst}`)
  })
}
