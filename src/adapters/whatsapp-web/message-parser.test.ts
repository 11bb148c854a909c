import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { installed } from '../../../test/whatsapp-web/installed.ts'
import { type Content, openLibrary } from './library.ts'
import { parseMessage } from './message-parser.ts'

const { folder, skip } = installed()

test('cards, polls, choices and video notes are converted to the nearest message type', {
  skip,
  timeout: 60_000,
}, async () => {
  const found = await openLibrary(dirname(folder))
  const read = async (message: Content) => {
    const key = { id: 'ONE', remoteJid: '447400190038@s.whatsapp.net', fromMe: false }
    const heard = await parseMessage(found, { key, messageTimestamp: 1, message }, async () => null, '')
    return heard?.kind === 'message' ? heard.message : null
  }
  const vcard = 'BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada\r\nitem1.TEL;waid=447400190048:+44 7400 190048\r\nEND:VCARD'
  const ada = { displayName: 'Ada', vcard }
  const poll = { name: 'When?', options: [{ optionName: 'Now' }, { optionName: 'Later' }] }
  const texts: [Content, string][] = [
    [{ contactMessage: ada }, '[contact]\nAda, +44 7400 190048'],
    [{ contactsArrayMessage: { contacts: [ada, { displayName: 'Bob' }] } }, '[contact]\nAda, +44 7400 190048\nBob'],
    [{ pollCreationMessageV3: poll }, '[poll] When?\n- Now\n- Later'],
    [{ buttonsResponseMessage: { selectedDisplayText: 'Yes' } }, 'Yes'],
    [{ listResponseMessage: { title: 'The second' } }, 'The second'],
  ]
  for (const [content, text] of texts) assert.equal((await read(content))?.text, text)
  const note = { directPath: '/v/t62/note', mediaKey: new Uint8Array(32), mimetype: 'video/mp4' }
  const { media, text } = (await read({ ptvMessage: note })) ?? {}
  assert.deepEqual([media?.type, media?.mimeType, text], ['video', 'video/mp4', null])
  assert.equal(await read({ protocolMessage: { type: 3 } }), null)
})
