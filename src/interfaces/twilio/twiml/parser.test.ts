import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxDocumentBytes, maxDocumentElements } from '../limits.ts'
import { childrenOf, parseTwiml, textOf } from './parser.ts'

test('the verbs of a document keep their order, attributes and texts', () => {
  const verbs = parseTwiml(`\ufeff  <?xml version="1.0" encoding="UTF-8"?>
    <Response>
      <!-- a comment -->
      <Say voice="alice">Hello <break time="1s"/>and &lt;good&gt; day</Say>
      <Gather numDigits="1"><Say><![CDATA[Press <1>]]></Say></Gather>
    </Response>`)
  assert.deepEqual(
    verbs.map(({ name }) => name),
    ['Say', 'Gather'],
  )
  const [say, gather] = verbs
  assert.ok(say && gather)
  assert.equal(say.attributes.voice, 'alice')
  assert.equal(textOf(say), 'Hello and <good> day')
  assert.deepEqual(childrenOf(gather, 'Say').map(textOf), ['Press <1>'])
})

test('an empty response has no verbs', () => {
  assert.deepEqual(parseTwiml('<Response/>'), [])
})

const refused: readonly (readonly [string, string, number])[] = [
  ['nothing', '', 12100],
  ['plain text', 'Hello', 12100],
  ['an open element', '<Response><Say>', 12100],
  ['a second root', '<Response/><Response/>', 12100],
  ['an unknown entity', '<Response>&nbsp;</Response>', 12100],
  ['a document type', '<!DOCTYPE x [<!ENTITY a "aaaa">]><Response>&a;</Response>', 12100],
  ['another root', '<response/>', 12200],
  ['text outside of a verb', '<Response>Hello</Response>', 12200],
  ['too many elements', `<Response>${'<Pause/>'.repeat(maxDocumentElements)}</Response>`, 12100],
  ['too deep elements', `${'<Response>'.repeat(7)}${'</Response>'.repeat(7)}`, 12100],
  ['too many bytes', `<Response><Say>${'é'.repeat(maxDocumentBytes / 2)}</Say></Response>`, 11750],
]

for (const [what, document, code] of refused)
  test(`${what} is refused with ${code}`, () => {
    assert.throws(() => parseTwiml(document), { code })
  })

test('attributes named as properties of objects are plain attributes', () => {
  const [verb] = parseTwiml('<Response><Say __proto__="x" constructor="y">z</Say></Response>')
  assert.deepEqual(Object.keys(verb?.attributes ?? {}).sort(), ['__proto__', 'constructor'])
})
