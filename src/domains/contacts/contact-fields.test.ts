import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { redactChange } from '../events/contents/ops.ts'
import { contactFields, type FieldName, fieldNames } from './contact-fields.ts'

// Every field of the table does what a field of a contact does: a new row needs no test of its own.

const { app, call, tenant } = await makeWorld()

const valuesOf = (word: string) =>
  Object.fromEntries(
    fieldNames.map((name, i) => {
      const text = word + 'abcdefghijklmnop'.charAt(i).repeat(8)
      return [name, contactFields[name].kind === 'url' ? `https://example.com/${text}` : text]
    }),
  )
const fieldsOf = (contact: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(fieldNames.map((name) => [name, contact[name]]))

const created = async (who: Tenant, values: object, number = '+447700900123') => {
  const body = { ...values, contact_details: [{ type: 'PH', value: number }] }
  const answer = await call(who, 'POST', '/open/contacts', body)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.contact
}

const isOptional = (name: FieldName): boolean => name !== 'first_name'

test('every field is stored, changed alone, and emptied by null', async () => {
  const who = await tenant()
  const [before, after] = [valuesOf('before'), valuesOf('after')]
  const contact = await created(who, before)
  const path = `/open/contacts/${contact.uuid}`
  const read = async () => fieldsOf((await call(who, 'GET', path)).body.contact)
  assert.deepEqual([fieldsOf(contact), await read()], [before, before])
  for (const name of fieldNames) {
    before[name] = after[name] ?? ''
    await call(who, 'PUT', path, { [name]: after[name] })
    assert.deepEqual(await read(), before, name)
  }
  for (const name of fieldNames.filter(isOptional)) {
    await call(who, 'PUT', path, { [name]: null })
    assert.equal((await read())[name], contactFields[name].empty, name)
  }
})

test('every searched field is found by its word, and no other', async () => {
  const who = await tenant()
  const values = valuesOf('')
  await created(who, values)
  for (const name of fieldNames) {
    const word = values[name]?.split('/').at(-1) ?? ''
    const { total } = (await call(who, 'GET', `/open/contacts/search?q=${word}`)).body
    assert.equal(total > 0, contactFields[name].isSearched, name)
  }
})

for (const [format, type] of [
  ['csv', 'text/csv'],
  ['vcf', 'text/vcard'],
] as const)
  test(`every field goes through a file: ${format}`, async () => {
    const [who, other] = [await tenant(), await tenant()]
    const values = valuesOf('file')
    await created(who, values)
    const payload: string = (await call(who, 'GET', `/open/contacts/export?format=${format}`)).body
    const headers = { 'x-user-api-key': other.key, 'content-type': type }
    const answer = await app.inject({ method: 'POST', url: '/open/contacts/import', headers, payload })
    assert.equal(answer.json().created, 1, answer.body)
    const { contacts } = (await call(other, 'GET', '/open/contacts')).body
    assert.deepEqual(contacts.map(fieldsOf), [values])
  })

test('an import with duplicates=merge, and a merge, fill every empty field', async () => {
  const [who, other] = [await tenant(), await tenant()]
  const values = { ...valuesOf('full'), first_name: 'Ada' }
  await created(other, values)
  const payload: string = (await call(other, 'GET', '/open/contacts/export')).body
  const first = await created(who, { first_name: 'Ada' })
  const headers = { 'x-user-api-key': who.key, 'content-type': 'text/csv' }
  await app.inject({ method: 'POST', url: '/open/contacts/import?duplicates=merge', headers, payload })
  assert.deepEqual(fieldsOf((await call(who, 'GET', `/open/contacts/${first.uuid}`)).body.contact), values)
  const second = await created(who, { first_name: 'Ada' }, '+447700900456')
  const { body } = await call(who, 'POST', `/open/contacts/${second.uuid}/merge`, { from: [first.uuid] })
  assert.deepEqual(fieldsOf(body.contact), values)
})

test('every field is masked for readers without the contents of conversations', () => {
  for (const name of fieldNames) assert.equal(redactChange(name, 'Ada'), '•••', name)
})
