import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mappedFile, previewOf } from '../../console/contacts/import-file.ts'

const fileOf = (text: string) => new File([text], 'contacts.csv', { type: 'text/csv' })

test('a blank row of a file is no contact, and the lines after it keep their numbers', async () => {
  const file = fileOf(
    ';;\r\nName;Phone;Mail\r\n;;\r\nAda;+447700900123;\r\n" "; ;\r\n\r\nEve;+447700900124;"a\nb"\r\n;;\r\n',
  )
  const preview = await previewOf(file)
  assert.equal(preview.kind, 'csv')
  if (preview.kind !== 'csv') return
  assert.deepEqual(preview.head, ['Name', 'Phone', 'Mail'])
  assert.deepEqual(
    preview.rows.map(({ line }) => line),
    [2, 4, 7],
  )
  const mapped = await (await mappedFile(file, preview, ['name', 'phone', 'email'], true)).text()
  const lines = mapped.split('\n')
  assert.equal(lines[0], 'name,phone,email')
  assert.deepEqual([lines[3], lines[6]], ['Ada,+447700900123,', 'Eve,+447700900124,"a'])
  assert.deepEqual(
    lines.filter((line) => /^[,;]+$/.test(line)),
    [],
  )
})
