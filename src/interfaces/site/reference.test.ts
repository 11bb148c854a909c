import assert from 'node:assert/strict'
import { test } from 'node:test'
import { referenceHtml } from './reference.ts'

const message = {
  type: 'object',
  description: 'A message',
  required: ['text'],
  properties: {
    text: { type: 'string', maxLength: 10 },
    reply: { $ref: '#/components/schemas/Message' },
  },
}

const html = referenceHtml({
  openapi: '3.1.0',
  info: { title: 'Sample', version: '1' },
  tags: [{ name: 'Two words', description: 'About *words*' }],
  paths: {
    '/words/{id}': {
      get: {
        operationId: 'getWord',
        tags: ['Two words'],
        summary: 'Show <one> word',
        description: 'Needs an API key with the scope `inbox`.',
        'x-needs': 'inbox',
        security: [{ accountKey: [] }],
        parameters: [{ $ref: '#/components/parameters/Id' }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Message' } } },
        },
        responses: {
          200: {
            description: 'Done',
            content: {
              'application/json': {
                schema: { type: 'array', items: { $ref: '#/components/schemas/Message' } },
                examples: { short: { value: [{ text: 'Hello' }] } },
              },
            },
          },
          404: { $ref: '#/components/responses/Missing' },
        },
      },
    },
  },
  webhooks: { 'word.spoken': { post: { summary: 'A word was spoken', responses: {} } } },
  components: {
    securitySchemes: { accountKey: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    parameters: {
      Id: { name: 'id', in: 'path', required: true, schema: { type: 'integer' }, description: 'Its number' },
    },
    schemas: {
      Message: message,
      Error: { type: 'object', properties: { error_code: { type: 'string', enum: ['unknown_word', 'old_word'] } } },
    },
    responses: {
      Missing: {
        description: 'No such word',
        content: { 'application/json': { schema: { allOf: [{ $ref: '#/components/schemas/Error' }] } } },
      },
    },
  },
})

test('an operation has the anchor of Swagger UI and leads to the page for requests', () => {
  assert.match(html, /<div class="body" id="\/Two%20words\/getWord">/)
  assert.match(html, /href="\/docs\/try#\/Two%20words\/getWord"/)
  assert.match(html, /<a href="#\/Two%20words">Two words<\/a>/)
})

test('references to parameters, responses and schemas are followed', () => {
  assert.match(html, /<code class="name">id<\/code> <span class="type">integer, path, required<\/span><p>Its number/)
  assert.match(html, /404<\/span> <code>unknown_word<\/code> <code>old_word<\/code> No such word/)
  assert.match(html, /array of <a href="#\/schemas\/Message">Message<\/a>/)
  assert.match(html, /<div class="body" id="\/schemas\/Message">/)
})

test('a schema that refers to itself is rendered once, with a link', () => {
  assert.match(html, /<code class="name">reply<\/code> <span class="type"><a href="#\/schemas\/Message">Message<\/a>/)
})

test('scope, examples, events and descriptions are shown, and text is escaped', () => {
  assert.match(html, /Authentication: <code>X-Key<\/code> · Scope: <code>inbox<\/code>/)
  assert.match(
    html,
    /<p class="label">Answer 200: short<\/p><div class="code"><pre tabindex="0"><code>\[\n {2}\{\n {4}&quot;text&quot;/,
  )
  assert.match(html, /id="\/webhooks\/word\.spoken"/)
  assert.match(html, /About <em>words<\/em>/)
  assert.match(html, /Show &lt;one&gt; word/)
})
