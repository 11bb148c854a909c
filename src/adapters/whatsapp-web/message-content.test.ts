import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Content } from './library.ts'
import { contentOf, referencesOf } from './message-content.ts'

test('choices keep their ids, and forms their answers', () => {
  const contents: readonly (readonly [Content, object])[] = [
    [
      { buttonsResponseMessage: { selectedButtonId: 'yes', selectedDisplayText: 'Yes' } },
      { kind: 'reply', type: 'button', id: 'yes', title: 'Yes' },
    ],
    [
      { templateButtonReplyMessage: { selectedId: 'booking_77_yes', selectedDisplayText: 'Yes' } },
      { kind: 'button', text: 'Yes', payload: 'booking_77_yes' },
    ],
    [
      {
        listResponseMessage: {
          ...{ title: 'Tomorrow', description: '09:30' },
          singleSelectReply: { selectedRowId: 'slot_0930' },
        },
      },
      { kind: 'reply', type: 'list', id: 'slot_0930', title: 'Tomorrow', description: '09:30' },
    ],
    [
      {
        interactiveResponseMessage: {
          body: { text: 'Sent' },
          nativeFlowResponseMessage: { name: 'flow', paramsJson: '{"date":"2026-12-01"}' },
        },
      },
      { kind: 'flow', name: 'flow', body: 'Sent', answers: { date: '2026-12-01' } },
    ],
    [
      { interactiveResponseMessage: { nativeFlowResponseMessage: { name: 'flow', paramsJson: '[1' } } },
      { kind: 'flow', name: 'flow', response_json: '[1' },
    ],
  ]
  for (const [content, expected] of contents) assert.deepEqual(contentOf(content), expected)
  assert.equal(contentOf({ conversation: 'plain' }), null)
})

test('a contact card keeps names, numbers with their network ids, addresses and the company', () => {
  const vcard = [
    ...['BEGIN:VCARD', 'VERSION:3.0', 'N:Example;Ann;Q\\;;;', 'FN:Ann Example', 'ORG:Ex\\, Ltd;Sales', 'TITLE:Head'],
    ...['item1.TEL;waid=447911220099;type=CELL:+44 7911', '  220099', 'EMAIL;TYPE=work:ann@example.com', 'END:VCARD'],
  ].join('\r\n')
  assert.deepEqual(contentOf({ contactMessage: { displayName: 'Ann Example', vcard } }), {
    kind: 'contacts',
    contacts: [
      {
        name: { formatted_name: 'Ann Example', first_name: 'Ann', middle_name: 'Q;', last_name: 'Example' },
        phones: [{ phone: '+44 7911 220099', type: 'CELL', wa_id: '447911220099' }],
        emails: [{ email: 'ann@example.com', type: 'work' }],
        org: { company: 'Ex, Ltd', department: 'Sales', title: 'Head' },
      },
    ],
  })
})

test('the quoted message and the advertisement are found in content of any kind', () => {
  const contextInfo = {
    stanzaId: '3EB0QUOTED',
    externalAdReply: { title: 'Half price', sourceUrl: 'https://fb.me/x', sourceId: 'AD1', sourceType: 'ad' },
  }
  for (const kind of ['extendedTextMessage', 'imageMessage', 'listResponseMessage'])
    assert.deepEqual(referencesOf({ [kind]: { contextInfo } }), {
      quoted: '3EB0QUOTED',
      referral: { headline: 'Half price', source_url: 'https://fb.me/x', source_id: 'AD1', source_type: 'ad' },
    })
  assert.deepEqual(referencesOf({ conversation: 'plain' }), { quoted: null, referral: null })
})
