import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { Receiver } from '../doubles/receiver.ts'
import { furtherWalk, needs } from '../needs.ts'
import { goodPassword } from '../persons.ts'
import { apiKey, startPlatform, until } from '../platform.ts'
import { isWellMade, openPlatform } from './fixture.ts'

// The start page and the developers' pages, on a whole platform with its carriers, handsets and deliveries.

const platform = await startPlatform()
const receiver = await new Receiver().up()
after(async () => {
  await platform.end()
  await receiver.down()
})
const { open, signIn, allow } = openPlatform(platform)
const { call } = platform

const handset = '+447700900123'
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })

test(// The walk of the portal needs its number and its event.
'first-text: an account gets from nothing to its first number, text, reply, call and event on one page', async () => {
  // The next step opens by itself when an event ends the one before.
  allow(/^layout shift .*\/start: /)
  // As a new user does: the link that the start printed, and nothing else.
  const [, link = ''] = /(\/console\/claim#\S+)/.exec(platform.output()) ?? []
  const page = await open(link)
  await page.getByLabel('Your name').fill('Ada Example')
  await page.getByLabel('Email').fill('ada')
  await page.keyboard.press('Enter')
  await page.getByText('Write an address such as ada@example.com.').waitFor()
  await page.getByLabel('Email').fill('ada.example@example.com')
  await page.getByLabel('Password', { exact: true }).fill(goodPassword)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/start$/)
  await page.getByText('Costs $3.00 now, and then $2.00 a month.').waitFor()
  await isWellMade(page, 'the start page of an empty account')
  await button(page, 'Buy it here').press('Enter')
  await page.getByText(/Your number is \+44 7/).waitFor()
  const { channels } = (await call('GET', '/open/sms/channels')).body
  assert.equal(channels.length, 1)
  const [{ phone_number: number }] = channels

  const telephone = page.getByRole('region', { name: 'Handset +44 7700 900123' })
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('It works')
  await page.getByText('Price: $0.04').waitFor()
  // The page sends the request that it shows.
  const shown = page.getByRole('figure', { name: 'Send a text', exact: true })
  const [, body = ''] = /-d '(.*)'/.exec(await shown.innerText()) ?? []
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.url().endsWith('/open/sms/send')),
    button(page, 'Send it here').click(),
  ])
  assert.deepEqual(sent.postDataJSON(), JSON.parse(body))
  assert.deepEqual(JSON.parse(body), { from_number: number, to_number: handset, text: 'It works' })
  await telephone.getByText('It works').waitFor()
  await page.getByText('Delivered to +44 7700 900123').waitFor()
  await page.getByRole('list', { name: 'Timeline of the text' }).getByText('0.04 USD was charged').waitFor()
  await page.getByText('The recipient has the message.').waitFor()
  await page.getByText('Charged: $0.04').waitFor()
  const { messages } = (await call('GET', '/open/sms/messages?direction=outbound')).body
  assert.deepEqual([messages.length, messages[0].price, messages[0].text], [1, 0.04, 'It works'])

  await telephone.getByRole('textbox').fill('It answers')
  await telephone.getByRole('textbox').press('Enter')
  await page.getByText('Received: “It answers”').waitFor()
  await button(page, 'Call from the handset').click()
  await page.getByText(/Last call: \+44 7700 900123 to/).waitFor()
  await button(page, 'Make it happen').click()
  await page.getByText('All steps are done').waitFor()
  await isWellMade(page, 'the start page when all is done')
  await page.reload()
  await page.getByText('5 of 5 steps done').waitFor()
  const other = await signIn(apiKey, '/start')
  await other.getByText('5 of 5 steps done').waitFor()
  await telephone.getByText('It answers').waitFor()

  await button(page, 'No longer open this page first').click()
  await page.goto(`${platform.url}/console`)
  await page.waitForURL(/\/inbox/)
  await page.goto(page.url().replace(/inbox.*/, 'developers'))
  await page.getByRole('heading', { name: 'First request' }).waitFor()
  await isWellMade(page, 'the overview')
})

test(
  'listen-here: events appear in the page as they happen, without an endpoint, and stay in the log',
  furtherWalk(),
  async () => {
    const page = await signIn(apiKey, '/developers/listen')
    await page.getByText('Waiting for the first event').waitFor()
    await isWellMade(page, 'listening')
    // The contact.created of the start page was just before, and is not shown.
    await page.getByRole('combobox', { name: 'Event', exact: true }).selectOption('contact.updated')
    await button(page, 'Make it happen').click()
    const heard = page.getByRole('list', { name: 'Events since you listen' })
    await heard.getByText('contact.updated', { exact: true }).click()
    await heard.getByText('"event": "contact.updated"').waitFor()
    await isWellMade(page, 'an event that was heard')
    await link(page, 'Deliveries and timeline').click()
    await page.getByText('No webhook subscribed to this event when it happened.').waitFor()
    await isWellMade(page, 'an event')
    await link(page, 'Event log').first().click()
    await page.getByRole('search').getByLabel('Event').selectOption('sms.message.received')
    await page.waitForURL(/name=sms\.message\.received/)
    await page.getByRole('row').nth(1).waitFor()
    assert.equal(await page.getByRole('row').count(), 2)
    await page.reload()
    await page.getByRole('row', { name: /sms\.message\.received/ }).waitFor()
    await isWellMade(page, 'the event log')
    await link(page, 'Event catalogue').click()
    await link(page, 'number.purchased').click()
    await page.getByRole('heading', { name: 'number.purchased' }).waitFor()
    await isWellMade(page, 'the event catalogue')
    assert.equal(
      (await call('POST', '/open/sms/send', { from_number: '+447700900999', to_number: handset, text: 'x' })).status,
      404,
    )
    await link(page, 'Request log').click()
    await page.getByRole('search').getByLabel('Outcome').selectOption('refused')
    await page.getByRole('row', { name: /POST \/open\/sms\/send 404/ }).waitFor()
    await isWellMade(page, 'the request log')
  },
)

test(
  'webhook-portal: an endpoint is made, tested, fails, is repaired, replayed, rotated, paused and removed',
  needs('chromium'),
  async () => {
    allow(/40[09]|422/)
    const page = await signIn(apiKey, '/developers/webhooks?create=1')
    const dialog = page.getByRole('dialog')
    const address = receiver.url('/crm')
    await dialog.getByLabel('Address').fill(address)
    await dialog.getByText('Headers and credentials').click()
    await dialog.getByLabel('User name (Basic)').fill('trunkline')
    await dialog.getByLabel('Password (Basic)', { exact: true }).fill('a password')
    await dialog.getByLabel('Headers', { exact: true }).fill('X-Api-Key: a value')
    await dialog.getByLabel('contact.created').check()
    await dialog.getByLabel('contact.updated').check()
    await isWellMade(page, 'the form of an endpoint')
    await dialog.getByRole('button', { name: 'Add endpoint' }).click()
    await dialog.getByText(/^whsec_/).waitFor()
    await button(page, 'I have stored it').click()
    await page.getByRole('heading', { name: address }).waitFor()

    // A test event with an edited body.
    await button(page, 'Send test event').first().click()
    const body = dialog.getByLabel('Body')
    await body.fill('{"first_name": ')
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.getByText('This is no JSON object.').waitFor()
    await body.fill('{"first_name": "Grace"}')
    await isWellMade(page, 'the form of a test')
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('heading', { name: 'Attempt 1' }).waitFor()
    assert.match(receiver.of('/crm')[0]?.body ?? '', /Grace/)
    const { authorization, 'x-api-key': key } = receiver.of('/crm')[0]?.headers ?? {}
    const credentials = Buffer.from('trunkline:a password').toString('base64')
    assert.deepEqual([authorization, key], [`Basic ${credentials}`, 'a value'])
    await isWellMade(page, 'a delivery')

    // The receiver fails: the page says so, with the answer.
    receiver.status = 503
    assert.equal((await call('POST', '/sandbox/events/contact.created', {})).status, 202)
    await page.goBack()
    await page.getByRole('row', { name: /contact\.created.*503/ }).waitFor()
    await page.getByText(/call has failed since|calls in a row have failed since/).waitFor()
    await page.getByRole('search').getByLabel('Status of an answer').selectOption('503')
    await page.getByRole('row', { name: /503/ }).getByRole('link').click()
    await page.getByText('"seen": true').waitFor()
    await page.getByText('content-type:').or(page.getByText('date:')).first().waitFor()
    receiver.status = 200
    await button(page, 'Send again').click()
    await page.getByText('Delivered', { exact: true }).waitFor()

    // A pause: events are missed, and replayed after a count.
    await page.goBack()
    await button(page, 'Clear filters').click()
    await button(page, 'Pause').click()
    await page.getByText('Events are kept, and not sent.').waitFor()
    const before = receiver.of('/crm').length
    for (let i = 0; i < 3; i += 1) await call('POST', '/sandbox/events/contact.created', {})
    await button(page, 'Resume').click()
    await button(page, 'Pause').waitFor()
    const choose = async (name: string) => {
      await button(page, 'More acts').click()
      await page.getByRole('menuitem', { name }).click()
    }
    await choose('Send events again')
    await isWellMade(page, 'the form of a replay')
    await dialog.getByLabel('Since').selectOption('The last pause')
    await dialog.getByRole('button', { name: 'Count first' }).click()
    await dialog.getByText('3 events would be sent.').waitFor()
    await dialog.getByRole('button', { name: 'Send 3 events' }).click()
    await dialog.getByText('3 events are on the way').waitFor()
    await until(async () => receiver.of('/crm').length === before + 3)
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await isWellMade(page, 'an endpoint with deliveries')

    // The credentials go, and the header stays: its value is masked.
    await choose('Change address or headers')
    const headers = dialog.getByLabel('Headers', { exact: true })
    assert.equal(await headers.inputValue(), 'X-Api-Key: •••\nAuthorization: •••')
    await isWellMade(page, 'the form of an address')
    await headers.fill('X-Api-Key: •••')
    await dialog.getByRole('button', { name: 'Change address or headers' }).click()
    await page.getByText('The endpoint is changed').first().waitFor()
    const { endpoints } = (await call('GET', '/open/webhooks/endpoints')).body
    assert.deepEqual(endpoints[0].webhooks[0].headers, { 'X-Api-Key': '•••' })

    // A new secret, while the earlier one remains valid.
    await choose('New signing secret')
    await dialog.getByRole('button', { name: 'Make new secret' }).click()
    await dialog.getByText(/The previous secret also signs until/).waitFor()
    await button(page, 'I have stored it').click()
    await call('POST', '/sandbox/events/contact.created', {})
    await until(async () => receiver.of('/crm').length === before + 4)
    const signatures = String(receiver.of('/crm').at(-1)?.headers['webhook-signature'])
    assert.equal(signatures.split(' ').length, 2)

    await link(page, 'Figures').click()
    await page.getByText('Success rate').waitFor()
    await isWellMade(page, 'figures')
    await page.getByRole('link', { name: /^Events/ }).click()
    await button(page, 'Add events').click()
    await dialog.getByLabel('sms.message.received').check()
    await dialog.getByRole('button', { name: 'Add events' }).click()
    await page.getByRole('row', { name: /sms\.message\.received/ }).waitFor()
    await isWellMade(page, 'events of an endpoint')
    await choose('Remove')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No endpoint yet').waitFor()
    await isWellMade(page, 'no endpoint')
  },
)
