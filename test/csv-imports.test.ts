import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// Every import of CSV reads what spreadsheets write: other encodings, semicolons or tabs, and commas at the
// ends of lines.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'csv')

const imports = contracts.filter(({ body }) => nodeOf(body).contentMediaType === 'text/csv')

const forms: Readonly<Record<string, (text: string) => Buffer>> = {
  'semicolons in UTF-16': (text) => Buffer.from(`\ufeff${text.replaceAll(',', ';')}`, 'utf16le'),
  'commas at the ends of lines': (text) => Buffer.from(text.replace(/(?<=\n.+)$/gm, ',')),
  tabs: (text) => Buffer.from(text.replaceAll(',', '\t')),
}

test('the walk sees the imports', () => {
  assert.ok(imports.length >= 5, `saw only ${imports.length}`)
})

for (const contract of imports)
  for (const [name, encode] of Object.entries(forms))
    test(`${contract.id} reads ${name}`, async () => {
      const request = (await recipes[contract.id]?.ok(scene)) ?? assert.fail(contract.id)
      const payload = encode(String(request.body))
      const { status, text } = await send(world, contract, scene.tenant, request, {
        payload,
        headers: { 'content-type': 'text/csv' },
      })
      assert.ok(status < 300, text)
    })
