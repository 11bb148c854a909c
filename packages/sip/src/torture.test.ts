import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cseqOf, fromOf, maxForwardsOf, toOf, viasOf } from './fields.ts'
import { header, type SipMessage } from './message.ts'
import { parseMessage } from './parse.ts'
import { printMessage } from './print.ts'
import { needsTorture, tortureMessages } from './user-agent/testing.ts'

/** RFC 4475, 3.1.1, and the messages of 3.2 to 3.4 that are valid but hard to obey. */
const valid = [
  ...['wsinv', 'intmeth', 'esc01', 'escnull', 'lwsdisp', 'longreq', 'dblreq', 'semiuri', 'unreason', 'noreason'],
  ...['bcast', 'bext01', 'cparam01', 'cparam02', 'inv2543', 'invut', 'novelsc', 'regaut01', 'regescrt', 'sdp01'],
  ...['unkscm', 'unksm2', 'zeromf'],
]

/** 3.1.2, and the contradictory messages of 3.3 (3.3.8, 3.3.9). The value is the status that answers the sender. */
const invalid: Record<string, number> = {
  ...{
    badinv01: 400,
    ncl: 400,
    scalar02: 400,
    scalarlg: 400,
    lwsruri: 400,
    lwsstart: 400,
    escruri: 400,
    badaspec: 400,
  },
  ...{
    baddn: 400,
    badvers: 505,
    mismatch01: 400,
    mismatch02: 400,
    bigcode: 400,
    quotbal: 400,
    multi01: 400,
    mcl01: 400,
  },
}

/** 3.1.2.12 leaves it open. Nothing here reads Date, so no call is refused over it. */
const tolerated = ['baddate']

const messages = tortureMessages()

test('every torture message of RFC 4475 has an expected verdict', needsTorture, () => {
  assert.equal(messages.size, 40)
  assert.deepEqual([...messages.keys()].sort(), [...valid, ...tolerated, ...Object.keys(invalid)].sort())
})

const sound = (name: string): SipMessage => {
  const message = parseMessage(messages.get(name) ?? Buffer.alloc(0))
  assert.ok(message.kind !== 'malformed', `${name}: ${message.kind === 'malformed' ? message.reason : ''}`)
  return message
}

for (const name of [...valid, ...tolerated]) {
  test(`RFC 4475 ${name} is read, and its printed form reads the same`, needsTorture, () => {
    const message = sound(name)
    const again = parseMessage(printMessage(message))
    assert.ok(again.kind !== 'malformed')
    const bare = ({ headers, ...rest }: SipMessage) => ({
      ...rest,
      headers: headers.filter(([key]) => key !== 'Content-Length'),
    })
    assert.deepEqual(bare(again), bare(message))
  })
}

for (const [name, status] of Object.entries(invalid)) {
  test(`RFC 4475 ${name} is refused with ${status}`, needsTorture, () => {
    const message = parseMessage(messages.get(name) ?? Buffer.alloc(0))
    assert.ok(message.kind === 'malformed')
    assert.equal(message.status, status)
  })
}

test('white space, folds and compact forms of wsinv are read as in RFC 4475, 3.1.1.1', needsTorture, () => {
  const message = sound('wsinv')
  assert.deepEqual(cseqOf(message), { number: 9, method: 'INVITE' })
  assert.equal(maxForwardsOf(message), 68)
  assert.deepEqual(fromOf(message), {
    name: 'J Rosenberg \\"',
    uri: 'sip:jdrosen@example.com',
    params: new Map([['tag', '98asjd8']]),
  })
  assert.deepEqual(
    viasOf(message).map(({ protocol, host, params }) => [protocol, host, params.get('branch')]),
    [
      ['UDP', '192.0.2.2', '390skdjuw'],
      ['TCP', 'spindle.example.com', 'z9hG4bK9ikj8'],
      ['UDP', '192.168.255.111', 'z9hG4bK30239'],
    ],
  )
  assert.equal(header(message, 'NewFangledHeader'), 'newfangled value continued newfangled value')
})

test('escaped control characters and UTF-8 of intmeth survive', needsTorture, () => {
  const message = sound('intmeth')
  assert.equal(toOf(message).name, 'BEL:\x07 NUL:\x00 DEL:\x7f')
  assert.equal(fromOf(message).params.get("fromparam''~+*_!.-%"), 'работающий')
})

test('the second request in a datagram is ignored (3.1.1.8)', needsTorture, () => {
  assert.equal(sound('dblreq').body.length, 0)
})
