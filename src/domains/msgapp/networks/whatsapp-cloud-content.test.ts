import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startWebhookReceiver, type WebhookReceiver } from '../../../../test/hooks.ts'
import { apiKey, type Platform, startPlatform, until } from '../../../../test/platform.ts'
import { type GraphApi, startGraph } from '../../../../test/whatsapp-cloud/graph.ts'
import { messageNames, messageOf, openShop, type Shop } from '../../../../test/whatsapp-cloud/shop.ts'
import { maxContentLength } from '../limits.ts'

// Structured content of messages, from signed callbacks of the Cloud API to reads, webhooks and the inbox.

const ours = '+447700900322'
const unshown = (type: string) => `(a message of the type ${type}, which is not shown here)`

/** By file: the text and the content that each message must have. */
const expected: { readonly [name: string]: { text?: string; content?: object } } = {
  text: { text: 'plain' },
  empty: {},
  rtl: { text: 'שלום \u202e 👩‍👩‍👧‍👦 مرحبا' },
  lone: { text: 'cut \ufffd end' },
  nul: { text: 'before\ufffdafter' },
  reply: { text: 'this one', content: { kind: 'quote', quoted: { wa_msg_id: 'wamid.quoted' } } },
  product_enquiry: {
    text: 'Is it in stock?',
    content: {
      kind: 'quote',
      quoted: { wa_msg_id: 'wamid.x' },
      product: { catalog_id: '9988', product_retailer_id: 'SKU-1' },
    },
  },
  button: {
    text: 'Yes',
    content: { kind: 'button', text: 'Yes', payload: 'booking_77_yes', quoted: { wa_msg_id: 'wamid.template1' } },
  },
  button_reply: {
    text: 'View board',
    content: {
      ...{ kind: 'reply', type: 'button', id: 'view_board', title: 'View board' },
      quoted: { wa_msg_id: 'wamid.menu1' },
    },
  },
  list_reply: {
    text: 'Tomorrow',
    content: { kind: 'reply', type: 'list', id: 'slot_0930', title: 'Tomorrow', description: '09:30 with Dr A' },
  },
  nfm_reply: {
    text: 'Sent',
    content: {
      ...{ kind: 'flow', name: 'flow', body: 'Sent' },
      answers: { flow_token: 't1', date: '2026-12-01', people: '3' },
    },
  },
  contacts: {
    text: 'Ann Example +44 7911 220099',
    content: {
      kind: 'contacts',
      contacts: [
        {
          name: { formatted_name: 'Ann Example', first_name: 'Ann' },
          phones: [{ phone: '+44 7911 220099', wa_id: '447911220099', type: 'CELL' }],
          emails: [{ email: 'ann@example.com' }],
          org: { company: 'Ex Ltd' },
        },
      ],
    },
  },
  location: { content: { kind: 'location', latitude: 51.5, longitude: -0.12, name: 'Office', address: '1 Ex St' } },
  order: {
    text: 'By Friday, please\n2 × SKU-1\n1 × SKU-2',
    content: {
      ...{ kind: 'order', catalog_id: '9988', text: 'By Friday, please', quoted: { wa_msg_id: 'wamid.catalogue' } },
      products: [
        { product_retailer_id: 'SKU-1', quantity: 2, item_price: 4.5, currency: 'GBP' },
        { product_retailer_id: 'SKU-2', quantity: 1, item_price: 12, currency: 'GBP' },
      ],
    },
  },
  ad_referral: {
    text: 'Saw your ad',
    content: {
      kind: 'referral',
      referral: {
        ...{ source_url: 'https://fb.me/x', source_id: 'AD1', source_type: 'ad' },
        ...{ headline: 'Half price', ctwa_clid: 'CL1' },
      },
    },
  },
  unsupported: {
    text: unshown('unsupported'),
    content: {
      ...{ kind: 'unsupported', type: 'unsupported' },
      payload: {
        errors: [
          {
            ...{ code: 131051, title: 'Message type unknown', message: 'Message type unknown' },
            error_data: { details: 'Message type is currently not supported.' },
          },
        ],
      },
    },
  },
  request_welcome: {
    text: unshown('request_welcome'),
    content: { kind: 'unsupported', type: 'request_welcome', payload: {} },
  },
}

describe('structured content of the Cloud API', { timeout: 120_000 }, () => {
  let platform: Platform
  let graph: GraphApi
  let hooks: WebhookReceiver
  let shop: Shop

  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await platform.call(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const hear = async (event: string) => {
    const { url, bodies } = hooks.open()
    await call('POST', `/open/webhooks/subscribe/${event}`, { hook_url: url, channel_uuid: shop.channel })
    return bodies
  }

  before(async () => {
    platform = await startPlatform()
    graph = await startGraph()
    hooks = await startWebhookReceiver()
    shop = await openShop(platform, graph, ours)
  })
  after(async () => {
    await platform.end()
    await graph.stop()
    await hooks.end()
  })

  let people = 0
  const newPerson = () => `+447911${210_000 + ++people}`
  const pathOf = (person: string) => `/open/msgapp/messages/${ours}/${person}`
  const write = (person: string, message: object) => shop.write(person, message)
  const exported = async (person: string): Promise<string> => {
    const headers = { 'x-user-api-key': apiKey }
    return (await fetch(`${platform.url}${pathOf(person)}?format=csv`, { headers })).text()
  }
  const newest = async (person: string) => (await call('GET', pathOf(person))).messages[0]

  test('each kind of message has its text and its content, in reads, webhooks and the inbox', async () => {
    assert.deepEqual(messageNames.toSorted(), Object.keys(expected).toSorted())
    const event = await hear('msgapp.message.received')
    const person = newPerson()
    const ids = new Map<string, string>()
    for (const name of messageNames) {
      const message = messageOf(name)
      const id = await write(person, message)
      // Repeated by the network: stored once.
      await shop.post(JSON.stringify({ from: person.slice(1), id, ...message }))
      ids.set(name, id)
    }
    const { messages, total } = await call('GET', pathOf(person))
    assert.equal(total, messageNames.length)
    await until(async () => event.length === messageNames.length)
    const conversations = await until(async () => {
      const list = (await call('GET', '/open/conversations')).conversations
      return list.length > 0 && list
    })
    const { uuid } = conversations.find((one: { number?: string }) => one.number === person)
    const items = await until(async () => {
      const found = (await call('GET', `/open/conversations/${uuid}/items?results_per_page=100`)).items
      return found.length === messageNames.length && found
    })
    const [read, published, shown] = [messages, event, items.map((item: { message: object }) => item.message)].map(
      (list) =>
        Object.fromEntries(
          messageNames.map((name) => {
            const found = list.find((one: { wa_msg_id: string }) => one.wa_msg_id === ids.get(name))
            const { text, content } = found.message
            return [name, { ...(text === undefined ? {} : { text }), ...(content === undefined ? {} : { content }) }]
          }),
        ),
    )
    assert.deepEqual(read, expected)
    assert.deepEqual(published, expected)
    assert.deepEqual(shown, expected)
    const [columns = '', ...rows] = (await exported(person)).split('\r\n')
    const column = columns.split(',').indexOf('message.content')
    assert.ok(column > 0 && !columns.includes('message.content.'), columns)
    assert.ok(
      rows.some((row) => row.includes('{""kind"":""button"",""text"":""Yes""')),
      'the content is one column, as JSON',
    )
  })

  test('messages between two people name no participant, in reads, webhooks and the inbox', async () => {
    const event = await hear('msgapp.message.new')
    const person = newPerson()
    await write(person, messageOf('text'))
    await call('POST', '/open/msgapp/send-message', { from_number: ours, to_number: person, text: 'And back' })
    await graph.control('POST', 'people', { number: person, open: true })
    const { sessions } = await call('GET', `/open/msgapp/conversations/${shop.channel}?phone_number=${person.slice(1)}`)
    const { messages } = await call('GET', pathOf(person))
    assert.equal(messages.length, 2)
    await until(async () => event.some((one) => one.remote_phone_number === person))
    for (const one of [...messages, ...event, sessions[0].last_message]) assert.equal(one.participant, undefined)
  })

  test('a quoted message of the conversation is named with its text; one of another conversation is not', async () => {
    const [ada, bob] = [newPerson(), newPerson()]
    const hers = await write(ada, { type: 'text', text: { body: 'Half past nine?' } })
    const { uuid } = await newest(ada)
    await write(ada, { type: 'text', text: { body: 'I mean this' }, context: { id: hers } })
    assert.deepEqual((await newest(ada)).message.content, {
      kind: 'quote',
      quoted: { wa_msg_id: hers, message_uuid: uuid, sent_by: 'user', text: 'Half past nine?' },
    })
    await write(bob, { type: 'text', text: { body: 'I guess hers' }, context: { id: hers } })
    assert.deepEqual((await newest(bob)).message.content, { kind: 'quote', quoted: { wa_msg_id: hers } })
  })

  test('a message keeps all that it refers to: an advertisement, a product and a quoted message', async () => {
    const person = newPerson()
    const referral = {
      source_url: 'https://fb.me/y',
      welcome_message: { text: 'Hello there' },
      image_url: 'https://x/y',
    }
    await write(person, {
      ...messageOf('button_reply'),
      referral,
      context: { id: 'wamid.y', referred_product: { catalog_id: 9988 } },
    })
    assert.deepEqual((await newest(person)).message.content, {
      ...{ kind: 'reply', type: 'button', id: 'view_board', title: 'View board' },
      quoted: { wa_msg_id: 'wamid.y' },
      product: { catalog_id: '9988' },
      referral: { ...referral, welcome_message: 'Hello there' },
    })
    await write(person, { ...messageOf('location'), context: { id: 'wamid.z' } })
    const { content, pin } = (await newest(person)).message
    assert.deepEqual(content, { kind: 'location', ...pin, quoted: { wa_msg_id: 'wamid.z' } })
  })

  test('content of a hostile form is stored within its limits, and never makes the network repeat it', async () => {
    const person = newPerson()
    const contentOf = async (message: object) => {
      await write(person, message)
      return (await newest(person)).message.content
    }
    const flow = (response_json: string) => ({
      type: 'interactive',
      interactive: { type: 'nfm_reply', nfm_reply: { name: 'flow', response_json } },
    })
    assert.deepEqual(await contentOf(flow('no JSON')), { kind: 'flow', name: 'flow', response_json: 'no JSON' })
    assert.deepEqual(await contentOf(flow('{"a\\u0000\\ud83d":"\\udc00","__proto__":{"x":1}}')), {
      ...{ kind: 'flow', name: 'flow' },
      answers: JSON.parse('{"a\ufffd\ufffd":"\ufffd","__proto__":{"x":1}}'),
    })
    assert.equal((await contentOf(flow(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`))).kind, 'flow')
    const large = { type: 'future_kind', future_kind: { body: 'x'.repeat(maxContentLength) } }
    assert.deepEqual(await contentOf(large), { kind: 'unsupported', type: 'future_kind', is_truncated: true })
    const deep = `{"from":"${person.slice(1)}","id":"wamid.deep","type":"deep","deep":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`
    assert.equal(await shop.post(deep), 200)
    assert.equal(
      await contentOf({ type: 'interactive', interactive: { type: 'new' } }).then(({ type }) => type),
      'interactive',
    )
    for (const odd of [{ type: 'contacts', contacts: 'none' }, { type: 'order' }, { type: 'location', location: {} }])
      assert.ok((await contentOf(odd)).kind, JSON.stringify(odd))
  })

  test('content of another form than the documented one is kept: as it came, or as far as it has one', async () => {
    const person = newPerson()
    const shown = async (message: object) => {
      await write(person, message)
      return (await newest(person)).message
    }
    for (const [type, body] of [
      ['image', { sha256: 'x' }],
      ['system', { type: 'user_identity_changed' }],
      ['text', { body: { text: 'nested' } }],
      ['contacts', [null, 5, {}]],
    ] as const) {
      const content = { kind: 'unsupported', type, payload: { [type]: body } }
      assert.deepEqual(await shown({ type, [type]: body }), { text: unshown(type), content })
    }
    const nfm_reply = { name: 'flow', response_json: { date: '2026-12-01' } }
    assert.deepEqual((await shown({ type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply } })).content, {
      ...{ kind: 'flow', name: 'flow', answers: { date: '2026-12-01' } },
    })
    const contacts = [null, 5, { name: {}, org: { company: 'Ex Ltd' } }, { name: { first_name: 'Ann' } }]
    assert.deepEqual(await shown({ type: 'contacts', contacts }), {
      text: 'Ann',
      content: {
        kind: 'contacts',
        contacts: [
          { name: {}, phones: [], emails: [], org: { company: 'Ex Ltd' } },
          { name: { first_name: 'Ann' }, phones: [], emails: [] },
        ],
      },
    })
  })

  test('a location beyond every limit of a request stays readable, in reads, conversations and the inbox', async () => {
    const person = newPerson()
    const location = {
      ...{ latitude: 91, longitude: -181, name: 'n'.repeat(201), address: 'a'.repeat(401) },
      url: `https://example.com/${'u'.repeat(2_048)}`,
    }
    await write(person, { type: 'location', location })
    assert.deepEqual((await newest(person)).message, { pin: location, content: { kind: 'location', ...location } })
    const { sessions } = await call('GET', `/open/msgapp/conversations/${shop.channel}?phone_number=${person.slice(1)}`)
    assert.deepEqual(sessions[0].last_message.message.pin, location)
    const conversation = await until(async () =>
      (await call('GET', '/open/conversations')).conversations.find(
        (one: { number?: string }) => one.number === person,
      ),
    )
    const [item] = await until(async () => {
      const { items } = await call('GET', `/open/conversations/${conversation.uuid}/items`)
      return items.length > 0 && items
    })
    assert.deepEqual(item.message.message.content, { kind: 'location', ...location })
  })

  test('a reaction in a group fires its own event and that of reactions, with the participant; one to a person does not', async () => {
    const [inGroups, all] = [await hear('msgapp.group.message.reaction'), await hear('msgapp.message.reaction')]
    const person = newPerson()
    const group_id = '120363025246125999'
    const alone = await write(person, messageOf('text'))
    await write(person, { type: 'reaction', reaction: { message_id: alone, emoji: '👍' } })
    const together = await write(person, { ...messageOf('text'), group_id })
    await write(person, { type: 'reaction', group_id, reaction: { message_id: together, emoji: '🎉' } })
    await until(async () => all.length === 2 && inGroups.length === 1)
    assert.partialDeepStrictEqual(inGroups, [
      {
        ...{ event: 'msgapp.group.message.reaction', wa_msg_id: together, reaction: '🎉', reaction_by: person },
        participant: { phone_number: person },
      },
    ])
    assert.deepEqual(
      all.map(({ wa_msg_id, participant }) => [wa_msg_id, participant]),
      [
        [alone, undefined],
        [together, { phone_number: person }],
      ],
    )
  })

  test('a deleted message keeps no content, and is quoted by no other', async () => {
    const person = newPerson()
    const id = await write(person, messageOf('contacts'))
    const first = await newest(person)
    await write(person, { ...messageOf('text'), context: { id } })
    await call('DELETE', `/open/msgapp/message/${first.session_key}/${first.uuid}`)
    assert.deepEqual((await newest(person)).message.content, { kind: 'quote', quoted: { wa_msg_id: id } })
  })
})
