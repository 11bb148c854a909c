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
  [
    'Remote-Party-ID with full privacy beside a malformed element',
    open,
    `Remote-Party-ID: <sip:${number}@a>;party=calling;privacy=full, "Ann <sip:+1@a>`,
  ],
  [
    'a malformed Remote-Party-ID with full privacy',
    open,
    `Remote-Party-ID: Doe, <sip:${number}@a;party=calling;privacy=full`,
  ],
  ['Remote-Party-ID of an anonymous user', open, 'Remote-Party-ID: <sip:anonymous@a>;party=calling'],
  ['Privacy in quotation marks', open, 'Privacy: "id"', asserted],
  ['Privacy with all values in quotation marks', open, 'Privacy: "user;id"'],
  ['an anonymous asserted identity', open, 'P-Asserted-Identity: <sip:anonymous@anonymous.invalid>'],
  [
    'an anonymous identity beside the asserted number',
    open,
    asserted,
    'P-Asserted-Identity: <sip:anonymous@ANONYMOUS.invalid>',
  ],
  ...['Restricted', 'Number Withheld', 'Anonymous Caller', 'Private  Number', 'No Caller ID'].map(
    (name) => [`the display name ${name}`, `From: "${name}" <sip:${number}@carrier.test>;tag=peer`] as const,
  ),
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
  ['a display name that has a word of privacy', `From: "Private Bank" <sip:${number}@carrier.test>;tag=peer`],
  ['privacy of the name alone', open, `Remote-Party-ID: <sip:${number}@a>;party=calling;privacy=name`],
  ['a malformed asserted identity', open, 'P-Asserted-Identity: "a'],
] as const)
  test(`a caller shows its number with ${how}`, () => {
    const { isWithheld, number: shown } = callerOf(inviteWith(from, ...headers))
    assert.deepEqual([isWithheld, shown], [false, number])
  })

for (const [privacy, name] of [
  ['name', null],
  ['off', 'Ann'],
] as const)
  test(`the name of a caller whose Remote-Party-ID has privacy=${privacy} is ${name}`, () => {
    const party = `Remote-Party-ID: "Ann" <sip:${number}@a>;party=calling;privacy=${privacy}`
    const caller = callerOf(inviteWith(`From: "Ann" <sip:${number}@carrier.test>;tag=peer`, party))
    assert.deepEqual([caller.isWithheld, caller.number, caller.name], [false, number, name])
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
  [null, 'Privacy: header', 'History-Info: <sip:+441632960001@a>;index=1, <sip:+441632960003@a>;index=1.1'],
  [null, 'Privacy: session', 'Diversion: <sip:+441632960001@a>;reason=user-busy'],
  ['+441632960001', 'Privacy: id', 'Diversion: <sip:+441632960001@a>;reason=user-busy'],
  [null, 'Diversion: <sip:anonymous@a>;reason=unknown'],
  [null, 'Diversion: "Anonymous" <sip:unavailable@anonymous.invalid>'],
  [null, 'History-Info: <sip:anonymous@a>;index=1, <sip:+441632960003@a>;index=1.1'],
  [null, 'History-Info: <sip:+441632960003@a>;index=1'],
  [null, 'Diversion: <not an address'],
  [null],
] as const)
  test(`the number that forwarded a call is ${shown}, by ${headers.join(' and ') || 'no header'}`, () => {
    assert.equal(diversionOf(inviteWith(open, ...headers)), shown)
  })
