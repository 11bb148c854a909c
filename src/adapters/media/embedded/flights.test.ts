import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { certificate } from './dtls-handshake.ts'
import { Flights, type HandshakeMessage, holdsKey } from './flights.ts'

const message = (seq: number, text: string, type = 11, from = 0, until = text.length): HandshakeMessage => {
  const fragment = Buffer.from(text.slice(from, until))
  const fields = { msg_type: type, length: text.length, message_seq: seq, fragment_offset: from, fragment }
  return { ...fields, fragment_length: fragment.length, serialize: () => fragment }
}

const run = (messages: readonly HandshakeMessage[]): string[] => {
  const flights = new Flights()
  return messages.flatMap((one) => flights.take(one)).map(({ seq, body }) => `${seq} ${body}`)
}

test('handshake messages are returned once each, whole and in order, for any order of arrival', () => {
  const hello = 'a hello in two parts'
  assert.deepEqual(
    run([
      message(2, 'certificate'),
      message(0, hello, 1, 9),
      message(0, hello, 1, 9),
      message(3, 'key exchange', 16),
      message(0, hello, 1, 0, 9),
      message(1, 'second hello', 1),
      message(3, 'key exchange', 16),
      message(2, 'certificate'),
    ]),
    [`0 ${hello}`, '1 second hello', '2 certificate', '3 key exchange'],
  )
})

test('a repeated ClientHello or Finished is returned again, also in fragments', () => {
  const [first, second] = [message(0, 'hello', 1, 0, 2), message(0, 'hello', 1, 2)]
  assert.deepEqual(run([first, second, second, first, message(1, 'end', 20), message(1, 'end', 20), first, second]), [
    '0 hello',
    '0 hello',
    '1 end',
    '1 end',
  ])
})

test('messages that are too long, too far ahead or inconsistent are not buffered', () => {
  assert.deepEqual(
    run([message(9, 'x'), { ...message(0, 'abc'), length: 40_000 }, { ...message(0, 'abc'), length: 2 }]),
    [],
  )
})

test('a certificate is accepted only with a signature by its key over the handshake', () => {
  const der = Buffer.from(certificate.certPem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const before = [message(1, 'hello', 1), message(2, 'certificate'), message(3, 'key exchange', 16)]
  const transcript = Buffer.concat(before.map((one) => one.serialize()))
  const signedBy = (key: Parameters<typeof sign>[2]): HandshakeMessage => {
    const signature = sign('sha256', transcript, key)
    const head = Buffer.from([4, 3, signature.length >> 8, signature.length & 255])
    return { ...message(4, '', 15), fragment: Buffer.concat([head, signature]) }
  }
  assert.equal(holdsKey(der, [...before, signedBy(certificate.privateKey)]), true)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  assert.equal(holdsKey(der, [...before, signedBy(privateKey)]), false)
  assert.equal(holdsKey(der, [message(1, 'other', 1), ...before.slice(1), signedBy(certificate.privateKey)]), false)
  assert.equal(holdsKey(der, before), false)
})
