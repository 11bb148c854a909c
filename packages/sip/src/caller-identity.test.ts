import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callerOf, diversionOf } from './caller-identity.ts'
import { readRequest, requestText } from './user-agent/testing.ts'

const number = '+447700900999'
const open = `From: <sip:${number}@carrier.test>;tag=peer`
const anonymous = 'From: "Anonymous" <sip:anonymous@anonymous.invalid>;tag=peer'
const asserted = `P-Asserted-Identity: <sip:${number}@carrier.test>`

const inviteWith = (from: string, ...headers: readonly string[]) =>
  readRequest(
    requestText('INVITE', 5060, headers.map((header) => `${header}\n`).join('')).replace(/^From: .*$/m, () => from),
  )

for (const [how, from, ...headers] of [
  ['Privacy: id', anonymous, 'Privacy: id', asserted],
  ['Privacy: id beside a number in From', open, 'Privacy: id', asserted],
  ['several values of Privacy, in capitals', open, 'PRIVACY: Header;User;ID;Critical', asserted],
  ['Privacy: user', open, 'Privacy: user'],
  ['Privacy: header', open, 'Privacy: header', asserted],
  ['Privacy: session', open, 'Privacy: session', asserted],
  ['Privacy: critical', open, 'Privacy: critical', asserted],
  ['a second Privacy header', open, 'Privacy: history', 'Privacy: id', asserted],
  ['an anonymous From alone', anonymous, asserted],
  ['an anonymous host alone', 'From: <sip:c8oqz84zk7z@anonymous.invalid>;tag=peer', asserted],
  ['an anonymous user of the carrier', 'From: <sip:anonymous@carrier.test>;tag=peer', asserted],
  ['an anonymous display name', `From: ANONYMOUS <sip:${number}@carrier.test>;tag=peer`],
  ['a restricted user', 'From: <sip:Restricted@carrier.test>;tag=peer', asserted],
  ['Privacy: none beside an anonymous From', anonymous, 'Privacy: none', asserted],
  ['a telephone URI', anonymous, 'Privacy: id', `P-Asserted-Identity: <tel:${number}>`],
  ['two asserted identities', anonymous, 'Privacy: id', `P-Asserted-Identity: "Doe, J" <sip:${number}@a>, <tel:+1>`],
  ['Remote-Party-ID with full privacy', open, `Remote-Party-ID: <sip:${number}@a>;party=calling;privacy=full`],
  ['Remote-Party-ID without a party', anonymous, `Remote-Party-ID: <sip:${number}@a>;screen=yes;privacy="full"`],
] as const)
  test(`a caller withholds its number by ${how}, and the asserted one is known apart from that`, () => {
    const caller = callerOf(inviteWith(from, ...headers))
    assert.deepEqual([caller.isWithheld, caller.number, caller.name], [true, number, null])
  })

for (const [how, from, ...headers] of [
  ['no restriction', open],
  ['Privacy: none', open, 'Privacy: none', asserted],
  ['Privacy: history', open, 'Privacy: history', asserted],
  ['an asserted identity in place of an unknown one', 'From: <sip:unavailable@unknown.invalid>;tag=peer', asserted],
  ['Remote-Party-ID without privacy', open, `Remote-Party-ID: <sip:+1@a>;party=calling;privacy=off`],
  ['privacy of the called party', open, `Remote-Party-ID: <sip:+1@a>;party=called;privacy=full`],
  ['a malformed asserted identity', open, 'P-Asserted-Identity: "a'],
] as const)
  test(`a caller shows its number with ${how}`, () => {
    const { isWithheld, number: shown } = callerOf(inviteWith(from, ...headers))
    assert.deepEqual([isWithheld, shown], [false, number])
  })

for (const from of [anonymous, 'From: <sip:unavailable@unknown.invalid>;tag=peer', 'From: <sip:carrier.test>;tag=peer'])
  test(`a caller without any number has none: ${from}`, () => assert.equal(callerOf(inviteWith(from)).number, ''))

for (const [shown, ...headers] of [
  [
    '+441632960001',
    'Diversion: <sip:+441632960001@a>;reason=user-busy;counter=1, <sip:+441632960002@a>;reason=unknown',
  ],
  ['+441632960001', 'Diversion: <tel:+441632960001>;privacy=off'],
  [null, 'Diversion: <sip:+441632960001@a>;privacy=full'],
  ['+441632960001', 'History-Info: <sip:+441632960001@a>;index=1, <sip:+441632960003@a;cause=302>;index=1.1'],
  [null, 'History-Info: <sip:+441632960001@a?Privacy=history>;index=1, <sip:+441632960003@a>;index=1.1'],
  [null, 'Privacy: history', 'History-Info: <sip:+441632960001@a>;index=1, <sip:+441632960003@a>;index=1.1'],
  [null, 'History-Info: <sip:+441632960003@a>;index=1'],
  [null, 'Diversion: <not an address'],
  [null],
] as const)
  test(`the number that forwarded a call is ${shown}, by ${headers.join(' and ') || 'no header'}`, () => {
    assert.equal(diversionOf(inviteWith(open, ...headers)), shown)
  })
