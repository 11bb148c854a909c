import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toneWav } from '../../src/domains/calls/sounds/sound-testing.ts'
import { apiKey, buyNumber, type Platform, until } from '../../test/platform.ts'

// An account as it looks after some days of use, made through the interface of a platform with its sandbox.

type Call = Platform['call']

/** Addresses of pages that need ids, as what follows `/console/ACC…`. */
export type ExamplePages = Readonly<Record<string, string>>

/** A greeting and a question for one key, which nobody presses. */
const menu = [
  { verb: 'say', text: 'Welcome. Press 1 for deliveries.' },
  { verb: 'gather', num_digits: 1, timeout: 1 },
  { verb: 'hangup' },
]

/** A receiver of webhooks, and a program of calls at /menu: it accepts requests to /crm, and refuses all others. */
const startReceiver = async (): Promise<{ readonly url: string; stop(): void }> => {
  const server = createServer((request, reply) => {
    const isGood = request.url === '/crm'
    request.resume().on('end', () => {
      if (request.url === '/menu') return reply.setHeader('content-type', 'application/json').end(JSON.stringify(menu))
      reply.writeHead(isGood ? 200 : 503, { 'content-type': 'application/json' })
      reply.end(isGood ? '{"received": true}' : '{"error": "the queue is full"}')
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  // A server that listens on a port has an address of this shape.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, stop: () => server.close() }
}

const people = [
  ['Ada', 'Lovelace', 'admin'],
  ['Grace', 'Hopper', 'developer'],
  ['Katherine', 'Johnson', 'billing'],
  ['Linus', 'Pauling', 'agent'],
] as const

const texts = [
  ['+447700900123', 'Your parcel arrives today between 14:00 and 16:00.'],
  ['+447700900124', 'Your code is 481 516. It is valid for ten minutes.'],
  ['+447700900001', 'Your table for two is reserved for 19:30.'],
  ['+447700900003', 'Reminder: your appointment is tomorrow at 9:00.'],
  ['+33612345678', 'Votre commande est prête. À bientôt !'],
  ['+4915123456789', 'Ihre Rechnung liegt bereit. Die Zusammenfassung finden Sie in Ihrem Konto.'],
] as const

const answers = [
  ['+447700900123', 'Thank you! Could you leave it with the neighbour, please?'],
  ['+447700900124', 'STOP sending me codes :)'],
] as const

const makeTexts = async (call: Call, number: string): Promise<readonly string[]> => {
  const sent: string[] = []
  for (const [to_number, text] of texts)
    sent.push((await call('POST', '/open/sms/send', { from_number: number, to_number, text })).body.message_uuid)
  for (const [from, text] of answers) await call('POST', `/sandbox/handsets/${from}/sms`, { to: number, text })
  await until(async () => {
    const { messages } = (await call('GET', '/open/sms/messages')).body
    return (
      messages.length === texts.length + answers.length &&
      messages.every(({ status }: { status: string }) => !['queued', 'sending', 'sent'].includes(status))
    )
  })
  return sent
}

const makeCalls = async (call: Call, number: string): Promise<string> => {
  for (const from of ['+447700900123', '+447700900777'])
    await call('POST', `/sandbox/handsets/${from}/calls`, { to: number })
  const { cdrs } = await until(async () => {
    const { body } = await call('GET', '/open/voip/call-history')
    return body.cdrs.length >= 2 && !body.cdrs.some(({ active }: { active: boolean }) => active) && body
  })
  return cdrs[0].uuid
}

/** Gives the conversation with Ada an answer, a note and a tag. @returns its id */
const makeConversation = async (call: Call): Promise<string> => {
  const { uuid } = await until(async () => {
    const { conversations } = (await call('GET', '/open/conversations')).body
    return conversations.find(({ counterpart }: { counterpart: string }) => counterpart === '+447700900123')
  })
  const text = 'Of course. The neighbour has it until you are back.'
  // A list shows the channel of the last item alone, and a call may have none.
  const { channels } = (await call('GET', `/open/conversations/${uuid}`)).body.conversation
  const { channel_uuid } = channels[0]
  await call('POST', `/open/conversations/${uuid}/messages`, { channel_uuid, text, anyway: true })
  await call('POST', `/open/conversations/${uuid}/notes`, { text: 'The driver was told by telephone.' })
  const { tag } = (await call('POST', '/open/tags', { name: 'Delivery', color: 'orange' })).body
  await call('PUT', `/open/conversations/${uuid}/tags/${tag.uuid}`)
  await call('PATCH', `/open/conversations/${uuid}`, { status: 'snoozed', snoozed_till_reply: true })
  return uuid
}

const makePeople = async (call: Call, url: string): Promise<void> => {
  for (const [first_name, last_name, role] of people) {
    const email = `${last_name.toLowerCase()}@example.com`
    const { invite_url } = (await call('POST', '/open/members', { first_name, last_name, email, role })).body
    if (role === 'agent') continue
    await fetch(`${url}/console/invitations/accept`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-trunkline-console': '1' },
      body: JSON.stringify({
        token: invite_url.split('#')[1],
        name: `${first_name} ${last_name}`,
        password: 'seven green boats sail',
      }),
    })
  }
}

const makeWebhooks = async (call: Call, url: string, channel_uuid: string): Promise<string> => {
  const event_names = ['contact.created', 'sms.message.received', 'sms.message.delivered']
  await call('POST', '/open/webhooks', { hook_url: `${url}/crm`, event_names, channel_uuid })
  const made = await call('POST', '/open/webhooks', { hook_url: `${url}/warehouse`, event_names: ['contact.created'] })
  return made.body.webhooks[0].uuid
}

const makeClips = async (url: string): Promise<void> => {
  for (const [name, seconds] of [
    ['Welcome', 3],
    ['Music on hold, with a reminder of the opening hours', 8],
  ] as const) {
    const answer = await fetch(`${url}/open/voip/clips?name=${encodeURIComponent(name)}`, {
      method: 'POST',
      headers: { 'x-user-api-key': apiKey, 'content-type': 'audio/wav' },
      body: new Uint8Array(toneWav({ seconds })),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
}

/** Makes an application, has a number run it, and calls the number. @returns the paths of their pages */
const makeApplication = async (call: Call, url: string): Promise<ExamplePages> => {
  const fields = { name: 'Menu', url: `${url}/menu`, fallback_url: `${url}/closed` }
  const { application } = (await call('POST', '/open/voip/applications', fields)).body
  await call('POST', '/open/voip/applications', { name: 'Survey', url: `${url}/survey`, format: 'twilio' })
  const [{ uuid, phone_number: to }] = (await call('GET', '/open/voip/virtual-numbers')).body.numbers
  await call('PUT', `/open/voip/virtual-numbers/${uuid}`, {
    voice: { kind: 'application', application_uuid: application.uuid },
  })
  await call('POST', '/sandbox/handsets/+447700900456/calls', { to })
  const { cdrs } = await until(async () => {
    const { body } = await call('GET', '/open/voip/call-history?number=%2B447700900456')
    return body.cdrs.length > 0 && !body.cdrs[0].active && body
  })
  return {
    application: `/calls/applications/${application.uuid}`,
    'application-in-use': `/calls/applications/${application.uuid}?act=remove`,
    'application-number': `/numbers/${uuid}`,
    'application-call': `/calls/${cdrs[0].uuid}`,
    'new-application': '/calls/applications?create=1',
    'new-clip': '/calls/applications?create=clip',
  }
}

/** Fills the account. @returns the pages that need ids, and what ends the receiver of its webhooks */
export const makeExampleData = async (platform: Platform): Promise<{ readonly pages: ExamplePages; stop(): void }> => {
  const { url } = platform
  const call: Call = async (method, path, body) => {
    const answer = await platform.call(method, path, body)
    // One refusal is part of the example.
    if (answer.status >= 300 && answer.body.error_code !== 'not_found')
      throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer
  }
  const receiver = await startReceiver()
  const { number, channel: sms } = await buyNumber({ call })
  await buyNumber({ call })
  const { numbers } = (await call('GET', '/open/voip/virtual-numbers')).body
  const bought: { uuid: string } = numbers.find((one: { phone_number: string }) => one.phone_number === number)
  await call('PUT', `/open/voip/virtual-numbers/${bought.uuid}`, { friendly_name: 'Front desk' })
  const webhook = await makeWebhooks(call, receiver.url, sms)
  for (const [first_name, last_name, value] of [
    ['Ada', 'Byron', '+447700900123'],
    ['Mary', 'Somerville', '+447700900124'],
  ])
    await call('POST', '/open/contacts', { first_name, last_name, contact_details: [{ type: 'PH', value }] })
  const [delivered, , failed] = await makeTexts(call, number)
  const cdr = await makeCalls(call, number)
  const applicationPages = await makeApplication(call, receiver.url)
  await makeClips(url)
  await makePeople(call, url)
  await call('POST', '/open/keys', { label: 'Shop, production', scopes: ['inbox', 'read_only'] })
  await call('POST', '/open/keys', { label: 'Reports', scopes: ['read_only', 'money'] })
  await call('POST', '/open/sms/send', { from_number: '+447700900999', to_number: '+447700900123', text: 'x' })
  await call('POST', '/open/msgapp/channel/create', { phone_number: '+447700910148', friendly_name: 'Support' })
  const [channel] = (await call('GET', '/open/msgapp/get-numbers')).body.numbers
  const delivery = await until(async () => {
    const { deliveries } = (await call('GET', `/open/webhooks/${webhook}/deliveries?endpoint=true`)).body
    return deliveries.find(({ attempts }: { attempts: object[] }) => attempts.length > 0)
  })
  const groups = (await call('GET', '/open/numbers/groups?country=GB&did_type=mobile')).body.data.groups
  const [contact] = (await call('GET', '/open/contacts?search=Byron')).body.contacts
  const conversation = await makeConversation(call)
  return {
    pages: {
      ...applicationPages,
      conversation: `/inbox/all/${conversation}`,
      contact: `/contacts/${contact.uuid}`,
      number: `/numbers/${bought.uuid}`,
      country: '/numbers/shop/GB',
      group: `/numbers/shop/GB/${groups[0].id}`,
      release: `/numbers/${bought.uuid}?release=1`,
      delivered: `/logs/messages/${delivered}`,
      message: `/logs/messages/${failed}`,
      call: `/calls/${cdr}`,
      webhook: `/developers/webhooks/${webhook}`,
      figures: `/developers/webhooks/${webhook}?tab=figures`,
      delivery: `/developers/webhooks/${webhook}/${delivery.id}`,
      event: `/developers/events/${delivery.event_uuid}`,
      channel: `/channels/${channel.uuid}`,
      'new-contact': '/contacts?create=1',
      'new-key': '/developers/keys?create=1',
      'new-endpoint': '/developers/webhooks?create=1',
      invite: '/people?invite=1',
      'new-channel': '/channels?create=1',
    },
    stop: receiver.stop,
  }
}
