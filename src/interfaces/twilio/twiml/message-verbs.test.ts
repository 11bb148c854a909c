import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileMessageAnswer } from './message-verbs.ts'

const base = 'https://example.com/sms/in'
const compile = (inner: string) => compileMessageAnswer(base, `<Response>${inner}</Response>`)

test('Message sends its text, or that of its Body', () => {
  const reply = { to: null, from: null, media: [], callbackUrl: null }
  assert.deepEqual(compile('<Message> Hi </Message><Sms>Ho</Sms>').replies, [
    { ...reply, text: 'Hi' },
    { ...reply, text: 'Ho' },
  ])
  assert.deepEqual(compile('<Message><Body>Hi</Body></Message>').replies, [{ ...reply, text: 'Hi' }])
})

test('addresses in a document are relative to it', () => {
  const [reply] = compile('<Message statusCallback="../status"><Body>x</Body><Media>/a.png</Media></Message>').replies
  assert.equal(reply?.callbackUrl, 'https://example.com/status')
  assert.deepEqual(reply?.media, ['https://example.com/a.png'])
  assert.equal(compile('<Message action="done">x</Message>').replies[0]?.callbackUrl, 'https://example.com/sms/done')
})

test('Redirect ends the document', () => {
  assert.deepEqual(
    compile('<Message>a</Message><Redirect method="get">next?x=1&amp;y=2</Redirect><Message>b</Message>'),
    {
      replies: [{ to: null, from: null, text: 'a', media: [], callbackUrl: null }],
      redirect: { url: 'https://example.com/sms/next?x=1&y=2', method: 'GET' },
    },
  )
})

test('a verb of calls, or an element that a message cannot have, is refused by its name', () => {
  assert.throws(() => compile('<Say>Hi</Say>'), /verb Say/)
  assert.throws(() => compile('<message>Hi</message>'), /verb message/)
  assert.throws(() => compile('<Message><Say>Hi</Say></Message>'), /Message cannot have Say/)
})
