import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../../../test/needs.ts'
import { find, person } from '../../../test/person.ts'
import { startProsody, until } from '../../../test/prosody.ts'
import { line, link, settingsFor, watch } from './testing.ts'

const ours = '+15550000001'
const theirs = '+15550000002'
const outgoing = (id: string, text: string, number = theirs) => ({
  id,
  to: { number, remote: null },
  text,
  file: null,
  pin: null,
})
const receiptsWish = "<request xmlns='urn:xmpp:receipts'/><markable xmlns='urn:xmpp:chat-markers:0'/>"

test('a text goes out, is received and read, in this order', needs('prosody'), async (t) => {
  const server = await startProsody(t, ['15550000001', '15550000002'])
  const seen = watch()
  const us = line(ours)
  const network = await link(t, settingsFor('client', server), seen, [us])
  const friend = await person(t, server, '15550000002')

  const sent = await network.send(us.channel, outgoing('a1', 'Grüße & <b>'))
  assert.equal(sent.outcome, 'done')
  const got = await friend.wait('the text', (node) => find(node, 'body') !== undefined)
  assert.equal(find(got, 'body')?.text, 'Grüße & <b>')
  assert.ok(find(got, 'request', { xmlns: 'urn:xmpp:receipts' }))
  const id = got.attrs.id
  assert.equal(sent.outcome === 'done' && sent.value.id, id)

  friend.write(`<message to='15550000001@localhost'><received xmlns='urn:xmpp:receipts' id='${id}'/></message>`)
  friend.write(`<message to='15550000001@localhost'><displayed xmlns='urn:xmpp:chat-markers:0' id='${id}'/></message>`)
  await until('both receipts', () => seen.receipts.length === 2)
  assert.deepEqual(
    seen.receipts.map(({ level, id: about }) => [level, about]),
    [
      [2, id],
      [3, id],
    ],
  )
})

test('a text comes in once, is receipted once it is kept, and marked when read', needs('prosody'), async (t) => {
  const server = await startProsody(t, ['15550000001', '15550000002'])
  let opens: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    opens = resolve
  })
  const seen = watch(undefined, () => gate)
  const us = line(ours)
  const network = await link(t, settingsFor('client', server), seen, [us])
  const friend = await person(t, server, '15550000002')
  friend.say('15550000001@localhost', 'hello', 'm1', receiptsWish)
  friend.say('15550000001@localhost', 'hello', 'm1', receiptsWish)
  assert.equal(await network.prove(us.channel), true)
  assert.equal(
    friend.got.some((node) => find(node, 'received')),
    false,
  )
  opens()
  await friend.wait('a receipt', (node) => find(node, 'received', { id: 'm1' }) !== undefined)
  const [message] = seen.inbound
  assert.equal(seen.inbound.length, 1)
  assert.deepEqual(
    [message?.text, message?.from.number, message?.own, message?.id],
    ['hello', theirs, false, '15550000002@localhost/m1'],
  )
  await network.markRead?.(us.channel, { number: theirs, remote: null }, [message?.id ?? ''])
  await friend.wait('the marker', (node) => find(node, 'displayed', { id: 'm1' }) !== undefined)
})
