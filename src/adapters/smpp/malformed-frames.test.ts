import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { encodePdu } from '@trunkline/smpp/encode.ts'
import { noTlvs, type ShortMessagePdu, tags } from '@trunkline/smpp/pdu.ts'
import { connectSmpp } from './smpp-carrier.ts'
import { ignoreIntake, makeDelivery } from './testing.ts'

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex')

const address = { ton: 1, npi: 1, address: '33612345678' }
const receipt: ShortMessagePdu = {
  ...makeDelivery(5),
  destination: address,
  shortMessage: Buffer.from('id:1 stat:DELIVRD err:000 text:hello'),
  tlvs: new Map([[tags.receipted_message_id, Buffer.from('1\0')]]),
}
const sound = encodePdu(receipt)
const enquiry = encodePdu({ command: 'enquire_link', sequence: 0x7eadbeef, status: 0 })

/** A carrier that binds, sends the octets and an enquire_link, and returns the fate of the session. */
const answerTo = async (t: TestContext, octets: Buffer): Promise<'answered' | 'closed'> => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  assert.ok(bound && typeof bound === 'object')
  const settings = { host: '127.0.0.1', port: bound.port, system_id: 'us', password: 'secret' }
  const carrier = connectSmpp(settings, { ...ignoreIntake, changed: () => {} })
  t.after(() => carrier.close())
  const [socket]: Socket[] = await once(server, 'connection')
  assert.ok(socket)
  socket.on('error', () => {})
  const [request]: Buffer[] = await once(socket, 'data')
  assert.ok(request)
  const sequence = request.readUInt32BE(12)
  socket.write(encodePdu({ command: 'bind_transceiver_resp', sequence, status: 0, systemId: '', tlvs: noTlvs }))
  socket.write(octets)
  socket.write(enquiry)
  // The end of the stream settles an unfinished frame that swallowed the enquire_link.
  socket.end()
  let got = Buffer.alloc(0)
  socket.on('data', (piece: Buffer) => {
    got = Buffer.concat([got, piece])
  })
  // A reset is one way to be closed; `once` would treat it as a failure.
  await new Promise<void>((resolve) => socket.on('close', () => resolve()))
  server.close()
  await carrier.close()
  return got.includes(enquiry.subarray(12)) ? 'answered' : 'closed'
}

const withLength = (length: number): Buffer => {
  const octets = Buffer.from(sound)
  octets.writeUInt32BE(length)
  return octets
}
const overlong = Buffer.from(encodePdu({ ...receipt, tlvs: noTlvs }))
overlong[16 + 1 + 14 + 14 + 9] = 250

/** A delivery extended by these octets, with its length adjusted. */
const followedBy = (more: string): Buffer => {
  const octets = Buffer.concat([sound, hex(more)])
  octets.writeUInt32BE(octets.length)
  return octets
}

const classes: [name: string, octets: Buffer, then: 'answered' | 'closed'][] = [
  ['command_length 0', withLength(0), 'closed'],
  ['command_length 4', withLength(4), 'closed'],
  ['command_length 15', withLength(15), 'closed'],
  ['command_length 65,537', withLength(65_537), 'closed'],
  ['command_length of all ones', withLength(0xffffffff), 'closed'],
  ['an HTTP GET', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'), 'closed'],
  ['CR LF instead of a PDU', Buffer.from('\r\n\r\n'.repeat(8)), 'closed'],
  ['half a PDU and no more', sound.subarray(0, 30), 'closed'],
  ['an unknown command', hex('00000010 000000fe 00000000 00000009'), 'answered'],
  ['an unexpected response', hex('00000010 80000004 00000000 00000009'), 'answered'],
  ['a generic_nack for nothing', hex('00000010 80000000 00000003 00000000'), 'answered'],
  ["a request that is not the carrier's", encodePdu({ ...receipt, command: 'submit_sm' }), 'answered'],
  ['an empty deliver_sm', hex('00000010 00000005 00000000 00000009'), 'answered'],
  ['sm_length beyond the PDU', overlong, 'answered'],
  ['an address without its NUL', hex('00000014 00000005 00000000 00000009 00010131'), 'answered'],
  ['a parameter that overruns', followedBy('04240063 61'), 'answered'],
  ['a parameter cut short', followedBy('042400'), 'answered'],
  [
    'a user data header beyond the text',
    encodePdu({ ...receipt, esmClass: 0x40, shortMessage: hex('ff00') }),
    'answered',
  ],
  ['an empty receipt', encodePdu({ ...receipt, esmClass: 4, shortMessage: Buffer.alloc(0), tlvs: noTlvs }), 'answered'],
  ['an odd number of UCS-2 octets', encodePdu({ ...receipt, dataCoding: 8, shortMessage: hex('041f04') }), 'answered'],
  [
    'outbind and alert_notification',
    Buffer.concat([
      encodePdu({ command: 'outbind', sequence: 3, status: 0, systemId: 'a', password: 'b' }),
      encodePdu({
        command: 'alert_notification',
        sequence: 4,
        status: 0,
        source: address,
        esme: address,
        tlvs: noTlvs,
      }),
    ]),
    'answered',
  ],
]

for (const [name, octets, then] of classes) {
  test(`${name} ${then === 'closed' ? 'ends the session' : 'leaves the session open'}`, async (t) => {
    assert.equal(await answerTo(t, octets), then)
  })
}
