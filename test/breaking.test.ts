import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openapiText } from '../scripts/openapi.ts'
import { breakingDifferences } from '../scripts/releases/breaking.ts'
import { exceptions } from '../scripts/releases/exceptions.ts'
import { documentOf, lastRelease, whyAbsent } from '../scripts/releases/releases.ts'

test('the interface breaks no client of the last release, except on purpose', (t) => {
  const release = lastRelease()
  const reason = whyAbsent(release.commit)
  if (reason !== null) return t.skip(reason)
  const found = breakingDifferences(JSON.parse(documentOf(release.commit)), JSON.parse(openapiText()))
  assert.deepEqual(found.sort(), Object.keys(exceptions).sort())
})

type Json = { [name: string]: Json | Json[] | string | string[] | boolean }

const contact: Json = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' },
    kind: { enum: ['person', 'group'] },
    parent: { $ref: '#/components/schemas/Contact' },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    details: { type: 'array', items: { type: 'object', required: [], properties: { value: { type: 'integer' } } } },
  },
}

const reference: Json = { $ref: '#/components/schemas/Contact' }
const json = (schema: Json): Json => ({ content: { 'application/json': { schema } } })

const documentWith = (change: (document: Json) => void): Json => {
  const document: Json = {
    paths: {
      '/contacts': {
        get: {
          parameters: [{ in: 'query', name: 'q', schema: { type: 'string' } }],
          responses: { '200': json({ type: 'object', required: ['contact'], properties: { contact: reference } }) },
        },
        post: {
          requestBody: {
            required: true,
            ...json({ type: 'object', required: [], properties: { contact: reference } }),
          },
          responses: { '201': json(reference), '404': json({ type: 'object', properties: {} }) },
        },
      },
    },
    webhooks: { 'contact.created': { post: { requestBody: json(reference) } } },
    components: { schemas: { Contact: structuredClone(contact) } },
  }
  change(document)
  return document
}

/** Returns the value at a path such as `paths./contacts.post`. */
const at = (node: Json, ...path: string[]): Json => path.reduce((one, key) => one[key] as Json, node) // made above

const fieldsOf = (document: Json): Json => at(document, 'components', 'schemas', 'Contact', 'properties')
const operation = (document: Json, method: string): Json => at(document, 'paths', '/contacts', method)

const changes: [string, (document: Json) => void, string[]][] = [
  ['nothing', () => {}, []],
  [
    'an added operation, field of a response, optional field of a request, and value',
    (document) => {
      at(document, 'paths')['/more'] = { get: { responses: {} } }
      fieldsOf(document).more = { type: 'string' }
      fieldsOf(document).kind = { enum: ['person', 'group', 'bot'] }
    },
    [],
  ],
  [
    'a removed path',
    (document) => {
      document.paths = {}
    },
    ['GET /contacts: the operation was removed', 'POST /contacts: the operation was removed'],
  ],
  [
    'a removed parameter',
    (document) => {
      operation(document, 'get').parameters = []
    },
    ['GET /contacts query q: the parameter was removed'],
  ],
  [
    'a parameter that is required now',
    (document) => {
      operation(document, 'get').parameters = [{ in: 'query', name: 'q', required: true, schema: { type: 'string' } }]
    },
    ['GET /contacts query q: the parameter is required now'],
  ],
  [
    'a removed field',
    (document) => {
      delete fieldsOf(document).note
    },
    ['Contact of a request.note: the field was removed', 'Contact of a response.note: the field was removed'],
  ],
  [
    'a removed value',
    (document) => {
      fieldsOf(document).kind = { enum: ['person'] }
    },
    [
      'Contact of a request.kind: the value "group" was removed',
      'Contact of a response.kind: the value "group" was removed',
    ],
  ],
  [
    'a new required field of a request',
    (document) => {
      at(document, 'components', 'schemas', 'Contact').required = ['name', 'kind']
    },
    ['Contact of a request.kind: the field of a request is required now'],
  ],
  [
    'a field of a response that may be absent now',
    (document) => {
      at(document, 'components', 'schemas', 'Contact').required = []
    },
    ['Contact of a response.name: the field may be absent now'],
  ],
  [
    'another type within a list',
    (document) => {
      fieldsOf(document).details = {
        type: 'array',
        items: { type: 'object', properties: { value: { type: 'string' } } },
      }
    },
    [
      'Contact of a request.details[].value: the type was integer and is string',
      'Contact of a response.details[].value: the type was integer and is string',
    ],
  ],
  [
    'a request that accepts null no longer, which a response may',
    (document) => {
      fieldsOf(document).note = { type: 'string' }
    },
    ['Contact of a request.note: the type was null or string and is string'],
  ],
  [
    'a response that may be null now, which a request may accept',
    (document) => {
      fieldsOf(document).name = { type: ['string', 'null'] }
    },
    ['Contact of a response.name: the type was string and is null or string'],
  ],
  [
    'a removed status and event',
    (document) => {
      delete at(operation(document, 'post'), 'responses')['404']
      document.webhooks = {}
    },
    ['POST /contacts: the status 404 was removed', 'event contact.created: the event was removed'],
  ],
]

for (const [name, change, expected] of changes)
  test(`breaking differences: ${name}`, () => {
    assert.deepEqual(
      breakingDifferences(
        documentWith(() => {}),
        documentWith(change),
      ).sort(),
      expected.sort(),
    )
  })
