import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { decimal, micros } from '../../src/platform/lib/money.ts'
import { furtherWalk, needs } from '../needs.ts'
import { apiKey, buyNumber, startPlatform, until } from '../platform.ts'
import { isWellMade, openPlatform } from './fixture.ts'

// Logs, timelines, money and search, over the carriers and handsets of the sandbox.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { signIn } = openPlatform(platform)
const { call } = platform
const { number } = await buyNumber(platform)
const handset = '+447700900123'

const send = async (to: string, text: string, more = {}): Promise<string> =>
  (await call('POST', '/open/sms/send', { from_number: number, to_number: to, text, ...more })).body.message_uuid

const ended = (uuid: string) =>
  until(async () => {
    const { message } = (await call('GET', `/open/sms/message/${uuid}`)).body
    return !['queued', 'sending', 'sent'].includes(message.status) && message
  })

const baseOf = (page: Page): string => page.url().replace(/(ACC[^/]+).*/, '$1')

/** The rows of the file that a button saves. */
const savedRows = async (page: Page): Promise<readonly string[]> => {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ])
  const text = await readFile(await file.path(), 'utf8')
  return text.trim().split(/\r?\n/)
}

test(
  'failed-text: what failed is said in words, a refund is in the ledger, and send again is a new message',
  needs('chromium'),
  async () => {
    const outcomes = [
      ['+447700900001', 'Not delivered', /could not be delivered to the recipient/],
      ['+447700900002', 'Expired', /could not be reached before the message expired/],
      ['+447700900003', 'Rejected', /rejected the message/],
    ] as const
    const sent = await Promise.all(outcomes.map(([to]) => send(to, `To ${to}`)))
    await Promise.all(sent.map(ended))
    const page = await signIn(apiKey, '/logs')
    await page.getByRole('row', { name: /900003/ }).waitFor()
    await isWellMade(page, 'the log of messages')
    assert.equal((await savedRows(page)).length, 1 + sent.length, 'a line of names and one for each message')

    for (const [to, status, reason] of outcomes) {
      await page.getByRole('link', { name: new RegExp(to.slice(-6)) }).click()
      await page.getByRole('heading', { level: 1, name: /Message to/ }).waitFor()
      await page.getByRole('heading', { name: reason }).waitFor()
      await page.getByText('What to do:').waitFor()
      await page.getByText(status, { exact: true }).first().waitFor()
      await page.goBack()
      await page.getByRole('row', { name: /900003/ }).waitFor()
    }
    await page.getByRole('link', { name: /900003/ }).click()
    await page.getByRole('link', { name: 'Ledger entry' }).waitFor()
    await isWellMade(page, 'the timeline of a message')

    // By keyboard alone: open the dialog, reach its button, send.
    await page.getByRole('button', { name: 'Send again' }).press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('$0.04').waitFor()
    await isWellMade(page, 'the question before a message is sent again')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => /SMO/.test(url.pathname) && !url.pathname.endsWith(sent[2] ?? ''))
    const { messages } = (await call('GET', '/open/sms/messages?contact_number=%2B447700900003')).body
    assert.equal(messages.length, 2, 'a second message, and no third')
    await page.getByRole('heading', { name: /rejected the message/ }).waitFor()

    const later = await send('+447700900777', 'Later', { send_at: new Date(Date.now() + 7_200_000).toISOString() })
    await page.goto(`${baseOf(page)}/logs/messages/${later}`)
    await page.getByRole('button', { name: 'Cancel message' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel message' }).click()
    await page.getByText('0.04 USD was paid back').waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: 'paid back' })
      .getByRole('link', { name: 'Ledger entry' })
      .click()
    await page.getByRole('row', { name: /Refund of a message.*\+\$0\.04/ }).waitFor()
  },
)

test('usage-adds-up: usage, ledger, CSV and API agree to the last micro-dollar', furtherWalk(), async () => {
  const texts = ['one', 'two', 'x'.repeat(200)]
  await Promise.all((await Promise.all(texts.map((text) => send('+33612345678', text)))).map(ended))
  assert.equal((await call('POST', `/sandbox/handsets/${handset}/calls`, { to: number })).status, 202)
  const [cdr] = await until(async () => {
    const { cdrs } = (await call('GET', '/open/voip/call-history')).body
    return cdrs.some(({ active }: { active: boolean }) => !active) && cdrs
  })
  const page = await signIn(apiKey, '/calls')
  await page.getByRole('link', { name: /900123/ }).click()
  await page.getByText('What to do:').waitFor()
  await isWellMade(page, 'the timeline of a call')
  assert.match(page.url(), new RegExp(cdr.uuid))

  const { total, adjustments } = (await call('GET', '/open/usage')).body
  const { balance, held, transfers } = (await call('GET', '/open/ledger?results_per_page=200')).body
  const sum = (amounts: readonly string[]) =>
    decimal(amounts.reduce((all, one) => all + (micros(one) ?? Number.NaN), 0))
  const credits = adjustments.map(({ amount }: { amount: string }) => amount)
  assert.equal(sum([...credits, `-${total.amount}`]), sum([balance, held]), 'usage and credits explain the balance')

  await page.goto(`${baseOf(page)}/money/usage`)
  await page.getByText('Equal to the ledger, to the last micro-dollar').waitFor()
  const cell = page
    .getByRole('row', { name: /^Total/ })
    .getByRole('cell')
    .last()
  assert.equal(await cell.locator('data').getAttribute('value'), total.amount)
  await isWellMade(page, 'usage')
  for (const by of ['Country', 'Channel', 'Status', 'Direction']) {
    await page.getByLabel('Split by').selectOption(by)
    await page.getByRole('columnheader', { name: by }).waitFor()
    const values = await page.getByRole('table', { name: 'Usage by split' }).locator('tr td:last-child data').all()
    const amounts = await Promise.all(values.map(async (one) => (await one.getAttribute('value')) ?? ''))
    assert.equal(sum(amounts.slice(0, -1)), total.amount, `the lines by ${by} add up`)
  }
  const [names = '', ...points] = await savedRows(page)
  const place = names.split(',').indexOf('amount')
  assert.equal(sum(points.map((line) => line.split(',')[place]?.replace(/^'/, '') ?? '')), total.amount)

  await page.goto(`${baseOf(page)}/money`)
  await page.getByRole('row', { name: /Number bought/ }).waitFor()
  await isWellMade(page, 'the ledger')
  const [head = '', ...lines] = await savedRows(page)
  const change = head.split(',').indexOf('change')
  assert.equal(lines.length, transfers.length)
  const changes = lines.map((line) => line.split(',')[change]?.replace(/^'/, '') ?? '')
  assert.equal(sum(changes), balance, 'the changes of the file are the balance')
  await page.getByRole('button', { name: 'Change' }).click()
  await page.getByLabel('Warn when the balance falls below').fill('7.5')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('$7.50').waitFor()
  await page.getByRole('link', { name: 'For calls and orders in progress' }).click()
  await page.getByText('Nothing is held').waitFor()
  await isWellMade(page, 'held money')
})

test(
  'a reload of every list shows the same rows, its export has them, and Back undoes a filter',
  furtherWalk(),
  async () => {
    const page = await signIn(apiKey, '/numbers')
    const lists = [
      ['/logs', 'direction', 'outbound'],
      ['/calls', 'direction', 'inbound'],
      ['/money', 'kind', 'sms'],
      ['/numbers', 'status', 'ACTIVE'],
      ['/settings/audit', 'action', 'purchaseNumber'],
    ] as const
    const rowsOf = async () => {
      await page.getByRole('table').first().waitFor()
      return (await page.getByRole('table').first().locator('tbody tr').allInnerTexts()).map((row) =>
        row.replace(/\s+/g, ' '),
      )
    }
    await page.getByRole('table').first().waitFor()
    const base = baseOf(page)
    for (const [path, name, value] of lists) {
      await page.goto(base + path)
      const all = await rowsOf()
      const filter = page
        .getByRole('search')
        .locator('select')
        .filter({ has: page.locator(`option[value="${value}"]`) })
        .first()
      await filter.selectOption(value)
      await page.waitForURL(new RegExp(`${name}=${value}`))
      const filtered = await rowsOf()
      assert.ok(filtered.length > 0 && filtered.length <= all.length, `${path}: ${filtered.length} of ${all.length}`)
      assert.equal((await savedRows(page)).length, 1 + filtered.length, `the export of ${path}`)
      await page.reload()
      assert.deepEqual(await rowsOf(), filtered, `${path} after a reload`)
      await page.goBack()
      await until(async () => !page.url().includes(`${name}=`) && (await rowsOf()).length >= all.length)
    }
  },
)

test(
  'search-everything: three spellings of a number and a pasted id lead from the palette to the timeline',
  furtherWalk(),
  async () => {
    const uuid = await send(handset, 'Find me')
    const page = await signIn(apiKey, '/logs')
    await page.getByRole('heading', { level: 1 }).waitFor()
    const field = page.getByRole('dialog').getByRole('combobox')
    for (const spelling of [handset, '00447700900123', '07700 900123']) {
      await page.keyboard.press('Control+k')
      await field.fill(spelling)
      await page
        .getByRole('group', { name: 'Messages' })
        .getByRole('option', { name: /900123/ })
        .first()
        .waitFor()
      await page.keyboard.press('Escape')
    }
    await page.keyboard.press('Control+k')
    await field.fill(uuid)
    await page.getByRole('option', { name: /900123/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: /Message to/ }).waitFor()
    assert.match(page.url(), new RegExp(`/logs/messages/${uuid}$`))
  },
)

test(
  'sendings: one text goes to pasted numbers, the refused ones are listed, and the rest is paused, resumed and canceled',
  needs('chromium'),
  async () => {
    // Slow enough to be paused, however busy the machine.
    const { connections } = (await call('GET', '/operator/connections')).body
    for (const { uuid, kind } of connections)
      if (kind === 'smpp') await call('PATCH', `/operator/connections/${uuid}`, { settings: { tps: 1 } })
    const page = await signIn(apiKey, '/logs/sendings')
    await page.getByText('No sendings yet').waitFor()
    await isWellMade(page, 'no sendings')
    await page.getByRole('button', { name: 'Send to many' }).first().click()
    const form = page.getByRole('dialog', { name: 'Send one text to many numbers' })
    await form.getByLabel('Text', { exact: true }).fill('We open at nine')
    const numbers = Array.from({ length: 900 }, (_, i) => `+44 7911 ${200_000 + i}`)
    await form.getByLabel('To', { exact: true }).fill(['12', ...numbers].join('\n'))
    await form.getByText('901 numbers').waitFor()
    await isWellMade(page, 'the form of a sending')
    await form.getByRole('button', { name: 'Send to many' }).click()
    await form.getByText('900 messages accepted').waitFor()
    await form.getByRole('row', { name: /^12 .*12 is not a phone number in E.164 format/ }).waitFor()
    await isWellMade(page, 'the result of a sending')
    await form.getByRole('link', { name: 'Follow the sending' }).click()
    await page.getByRole('heading', { level: 1, name: 'Sending' }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.locator('h1 + *').getByText('Paused').waitFor()
    await isWellMade(page, 'a paused sending')
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.locator('h1 + *').getByText('Running').waitFor()
    await page.getByRole('button', { name: 'Cancel the rest' }).click()
    const question = page.getByRole('dialog', { name: /not submitted yet/ })
    await question.getByRole('button', { name: 'Cancel the rest' }).click()
    await page.getByRole('heading', { level: 1 }).getByText('Sending').waitFor()
    await page.locator('h1 + *').getByText('Canceled').waitFor()
    const sendings = (await call('GET', '/open/sms/sendings')).body.sendings
    assert.deepEqual([sendings.length, sendings[0].state, sendings[0].refused], [1, 'canceled', 1])
    const { counts } = await until(async () => {
      const { sending } = (await call('GET', `/open/sms/sendings/${sendings[0].uuid}`)).body
      return sending.counts.queued + sending.counts.sending === 0 && sending
    })
    assert.ok(counts.canceled > 0)
    await page.goto(`${baseOf(page)}/logs/sendings`)
    await page.getByRole('row', { name: /We open at nine/ }).waitFor()
    await isWellMade(page, 'the list of sendings')
    const [message] = (await call('GET', '/open/sms/messages?status=canceled')).body.messages
    await page.goto(`${baseOf(page)}/logs/messages/${message.uuid}`)
    await page.getByRole('link', { name: 'Sent together with others' }).click()
    await page.getByRole('heading', { level: 1, name: 'Sending' }).waitFor()
  },
)
