import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusals as ledgerRefusals } from '../../domains/ledger/refusals.ts'
import { refusals as smsRefusals } from '../../domains/sms/refusals.ts'
import { refusals as httpRefusals } from '../../platform/http/refusals.ts'
import { makeCompatRefusal, refusalCodeOf } from './refusal-codes.ts'
import { refusals } from './refusals.ts'

const cases = [
  ['a wrong token', httpRefusals.wrongBasic(), 20003, 401],
  ['an unknown path', httpRefusals.unknownPath('/2010-04-01/x'), 20404, 404],
  ['a blocked account', httpRefusals.accountBlocked(null), 20005, 401],
  ['a missing scope', httpRefusals.scopeMissing('inbox'), 20403, 403],
  ['too many requests', httpRefusals.tooManyRequests(60, 1, ''), 20429, 429],
  ['an empty balance', ledgerRefusals.insufficientBalance('0.05'), 20005, 402],
  ['a key that may spend no more', ledgerRefusals.keySpendLimit('25.00'), 20005, 402],
  ['an opt-out', smsRefusals.optedOut('+447700900123', '+447700900001'), 21610, 400],
  ['a closed destination', smsRefusals.usUnsupported(), 21408, 400],
  ['a destination without a price', smsRefusals.destinationNotPriced('+447700900123'), 21612, 400],
  ['a sender of another account', smsRefusals.unknownSender('+447700900001'), 21606, 400],
  ['a sender without SMS', smsRefusals.cannotSend('+447700900001'), 21606, 400],
  ['no recipient', refusals.noRecipient(), 21604, 400],
  ['no text', refusals.noBody(), 21602, 400],
  ['a long text', refusals.bodyTooLong(1600), 21617, 400],
  ['a media file without a carrier', smsRefusals.mmsNotSupported('+447700900123'), 21612, 406],
  ['a file that is not there', smsRefusals.mediaUnavailable(0, 'https://example.com/a', 'it is empty'), 21620, 400],
] as const

for (const [what, problem, code, status] of cases)
  test(`${what} has the code ${code}`, () => {
    assert.deepEqual(refusalCodeOf(problem), { code, status })
  })

test('a refusal has code, message, more_info and status', () => {
  const make = makeCompatRefusal(() => 'https://sms.example.com/')
  assert.deepEqual(make(refusals.noBody()), {
    status: 400,
    body: {
      code: 21602,
      message: 'Message body is required',
      more_info: 'https://sms.example.com/docs/twilio#errors',
      status: 400,
    },
  })
})
