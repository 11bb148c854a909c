import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { furtherWalk, needs } from '../needs.ts'
import { apiKey, buyNumber, startPlatform, until } from '../platform.ts'
import { isWellMade, openPlatform } from './fixture.ts'

// Walks of contacts, over the carriers and handsets of the sandbox.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { signIn, allow } = openPlatform(platform)
const { call } = platform

type Detail = { type: string; value: string }

const create = async (name: string, details: readonly Detail[], more: object = {}): Promise<string> => {
  const [first_name = '', ...rest] = name.split(' ')
  const body = { first_name, last_name: rest.join(' '), contact_details: details, ...more }
  const answer = await call('POST', '/open/contacts', body)
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.contact.uuid
}

const phone = (value: string): Detail => ({ type: 'PH', value })
const row = (page: Page, name: string | RegExp) => page.getByRole('row', { name })
const baseOf = (page: Page): string => page.url().replace(/(ACC[^/?]+).*/, '$1')

/** The file that a button saves. */
const savedFile = async (page: Page, button: string): Promise<string> => {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).click(),
  ])
  return readFile(await file.path(), 'utf8')
}

describe('walks of contacts', needs('chromium'), () => {
  test('create-edit-delete: by keyboard; a refused number is said at its field', async () => {
    const page = await signIn(apiKey, '/contacts')
    await page.getByText('No contacts yet').waitFor()
    await isWellMade(page, 'no contacts')
    await page.getByRole('button', { name: 'Add a contact' }).first().press('Enter')
    const form = page.getByRole('dialog', { name: 'Add a contact' })
    await form.getByRole('textbox', { name: 'First name' }).waitFor()
    await isWellMade(page, 'the form of a contact')
    await page.keyboard.type('Ada')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Lovelace')
    await form.getByLabel('Detail 1', { exact: true }).fill('+44 7700')
    await page.keyboard.press('Enter')
    await form
      .getByText(/Write a number with its country code/)
      .first()
      .waitFor()
    await form.getByLabel('Detail 1', { exact: true }).fill('+441')
    await form.getByLabel('Detail 1', { exact: true }).fill('+449999999999999')
    allow(/422/)
    await page.keyboard.press('Enter')
    await form
      .getByText(/must be a phone number/)
      .first()
      .waitFor()
    await form.getByLabel('Detail 1', { exact: true }).fill('+44 (0)7700 900-123')
    await form.getByLabel('Detail 1', { exact: true }).fill('+447700900123')
    await form.getByRole('button', { name: 'Add another' }).click()
    await form.getByLabel('Kind of detail 2').selectOption('E')
    await form.getByLabel('Detail 2', { exact: true }).fill('ada@example.com')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Ada Lovelace' }).waitFor()
    await page.getByText('No messages or calls yet').waitFor()
    await isWellMade(page, 'a contact')

    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Last name' }).fill('King')
    await page.reload()
    await page.getByRole('textbox', { name: 'Last name' }).fill('King')
    await isWellMade(page, 'a contact while it is edited')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Ada King' }).waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const question = page.getByRole('dialog', { name: 'Delete Ada King?' })
    await isWellMade(page, 'the question before a contact is deleted')
    await question.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No contacts yet').waitFor()
    assert.equal((await call('GET', '/open/contacts')).body.total, 0)
  })

  test(
    'search in three spellings, and by accents and address; the palette opens the contact; the export equals the list',
    furtherWalk(),
    async () => {
      const ids = [
        await create('José García', [phone('+447700900123'), { type: 'E', value: 'jose@correo.example' }]),
        await create('Grace Hopper', [phone('+12025550123')]),
        await create('Ángela Ruiz', [phone('+34612345678')]),
        await create(`Margaret ${'Hamilton-Featherstonehaugh'.repeat(3)}`, [{ type: 'A', value: 'x' }]),
      ]
      const page = await signIn(apiKey, '/contacts')
      const table = page.getByRole('table', { name: 'Contacts of the account' })
      await table.waitFor()
      const names = () => table.getByRole('rowheader').allInnerTexts()
      assert.deepEqual(
        (await names()).map((text) => text.replace(/^[^\n]*\n/, '').trim()).slice(0, 3),
        ['Ángela Ruiz', 'Grace Hopper', 'José García'],
        'by name',
      )
      await isWellMade(page, 'the list of contacts')
      const find = page.getByRole('searchbox', { name: 'Name, number or email' })
      for (const text of ['+44 7700 900123', '0044 7700-900-123', '07700 900123', 'garcia', 'correo']) {
        await find.fill(text)
        await until(async () => (await table.getByRole('row').count()) === 2)
        await row(page, /José García/).waitFor()
        await find.fill('')
        await until(async () => (await table.getByRole('row').count()) === 5)
      }
      await find.fill('garcia')
      await until(async () => (await table.getByRole('row').count()) === 2)
      await page.reload()
      await until(async () => (await table.getByRole('row').count()) === 2)
      const lines = (await savedFile(page, 'Export CSV')).trim().split('\r\n')
      assert.deepEqual([lines.length, lines[1]?.includes(ids[0] ?? '')], [2, true])
      await find.fill('zzzzzz')
      await page.getByText('No contact matches').waitFor()
      await page.goBack()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Page, person, number or ID' }).fill('hopper')
      await page.getByRole('option', { name: /Grace Hopper/ }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Grace Hopper' }).waitFor()
      assert.ok(page.url().endsWith(ids[1] ?? ''))
    },
  )

  test(
    'block: a blocked handset that writes and calls reaches no one; after unblocking its next text arrives',
    furtherWalk(),
    async () => {
      const { number } = await buyNumber(platform)
      const handset = '+447700900777'
      const events = async () =>
        (await call('GET', '/open/events?name=sms.message.received')).body.events.length as number
      const writes = async (text: string) =>
        assert.equal((await call('POST', `/sandbox/handsets/${handset}/sms`, { to: number, text })).status, 202)
      await create('Pat Pest', [phone(handset)])
      const page = await signIn(apiKey, '/contacts?q=pest')
      await page.getByRole('link', { name: /Pat Pest/ }).click()
      await page.getByRole('heading', { level: 1, name: 'Pat Pest' }).waitFor()
      await writes('before the block')
      const history = page.getByRole('list', { name: 'Messages and calls, newest first' })
      await history.getByText('before the block').waitFor()
      await page.getByRole('button', { name: 'Block', exact: true }).click()
      const question = page.getByRole('dialog', { name: 'Block Pat Pest?' })
      await isWellMade(page, 'the question before a contact is blocked')
      await question.getByRole('button', { name: 'Block', exact: true }).click()
      await page.getByText(/^Blocked since/).waitFor()
      const before = await events()
      await writes('spam')
      assert.equal((await call('POST', `/sandbox/handsets/${handset}/calls`, { to: number })).status, 202)
      const blocked = () => history.getByRole('listitem').filter({ hasText: 'Blocked' }).count()
      await until(async () => {
        await page.reload()
        await history.waitFor()
        return (await blocked()) === 2
      })
      await isWellMade(page, 'a blocked contact with its history')
      assert.equal(await events(), before, 'no event')
      await page.goto(`${baseOf(page)}/contacts?blocked=true`)
      await row(page, /Pat Pest/).waitFor()
      await page.getByRole('link', { name: /Pat Pest/ }).click()
      await page.getByRole('button', { name: 'Unblock' }).click()
      await page.getByText(/^Blocked since/).waitFor({ state: 'detached' })
      await writes('after the block')
      await history.getByText('after the block').waitFor()
      assert.equal(await events(), before + 1)
      await history.getByRole('listitem').filter({ hasText: 'spam' }).getByRole('link').click()
      await page.getByText('The sender is a blocked contact.').first().waitFor()
      await page.getByRole('link', { name: 'Pat Pest' }).click()
      await page.getByRole('heading', { level: 1, name: 'Pat Pest' }).waitFor()
    },
  )

  test(
    'merge: candidates side by side, each field chosen, one contact remains with all details',
    furtherWalk(),
    async () => {
      const shared = phone('+442079460018')
      await create('Katherine Johnson', [shared])
      await create('K. Johnson', [shared, { type: 'E', value: 'kj@example.com' }, phone('+12025550188')])
      const page = await signIn(apiKey, '/contacts/duplicates')
      await page.getByRole('link', { name: '+44 20 7946 0018' }).waitFor()
      await isWellMade(page, 'duplicates')
      await page.getByRole('link', { name: '+44 20 7946 0018' }).click()
      const dialog = page.getByRole('dialog', { name: 'Merge 2 contacts' })
      await dialog.getByRole('radio', { name: 'This contact remains: K. Johnson' }).check()
      await dialog.getByRole('radio', { name: 'First name: Katherine' }).check()
      await dialog.getByRole('checkbox', { name: /188/ }).uncheck()
      await isWellMade(page, 'the comparison of duplicates')
      await dialog.getByRole('button', { name: 'Merge 2 contacts' }).click()
      await page.getByText('No number occurs twice').waitFor()
      const { contacts } = (await call('GET', '/open/contacts?q=johnson')).body
      assert.equal(contacts.length, 1)
      const [{ first_name, details }] = contacts
      assert.deepEqual(
        [first_name, details.map(({ value }: Detail) => value).sort()],
        ['Katherine', ['+442079460018', 'kj@example.com']],
      )
      await page.getByRole('link', { name: 'Same name' }).click()
      await page.getByText('No name occurs twice').waitFor()
      await page.reload()
      await page.getByText('No name occurs twice').waitFor()
    },
  )

  test('import: preview, meanings of columns, bad lines with their numbers and as a file, then the good ones', async () => {
    const page = await signIn(apiKey, '/contacts/import')
    // In windows-1252, as German spreadsheets write it.
    const buffer = Buffer.from(
      'Vorname;Kennung;Mail;Notiz;Ort\nJörg;07700 900201;linus@example.com;x;\n"Mary\nAnn";nobody;;y;\nÄnne;;aenne@example;z;\nTim;+447700900204;tim@example;;\n',
      'latin1',
    )
    await page.getByLabel('File', { exact: true }).setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
    const preview = page.getByRole('region', { name: 'Preview of the file' })
    await preview.getByRole('row', { name: /Jörg/ }).waitFor()
    await isWellMade(page, 'the preview of an import')
    const meaningOf = (column: string) => page.getByRole('combobox', { name: `Meaning of the column ${column}` })
    assert.deepEqual(
      await Promise.all(['Vorname', 'Kennung', 'Mail', 'Notiz'].map((column) => meaningOf(column).inputValue())),
      ['first_name', 'ignore', 'email', 'ignore'],
    )
    await meaningOf('Kennung').selectOption({ label: 'Phone' })
    await page.getByRole('combobox', { name: 'Country of national numbers' }).fill('United Kingdom')
    await page.getByRole('option', { name: 'United Kingdom', exact: true }).click()
    allow(/400/)
    await page.getByRole('button', { name: 'Import', exact: true }).press('Enter')
    await page.getByText('2 lines have a fault').waitFor()
    await isWellMade(page, 'the bad lines of an import')
    await page
      .getByRole('row', { name: /"nobody" is not a phone number/ })
      .getByText(/Mary/)
      .waitFor()
    await row(page, /^5 .*"aenne@example" is not an e-mail address.*Änne/).waitFor()
    const file = await savedFile(page, 'Download the bad lines')
    assert.match(file, /^Line,fault\r\n/)
    assert.ok(file.includes('Änne;;aenne@example;z') && !file.includes('Jörg'), file)
    await page.getByRole('button', { name: 'Import the other lines' }).click()
    await page.getByText('The import is complete').waitFor()
    await isWellMade(page, 'the result of an import')
    const found = (await call('GET', '/open/contacts?q=07700900201')).body.contacts
    assert.equal(found[0]?.first_name, 'Jörg')
    // Tim is imported without his address.
    await row(page, /^6 .*"tim@example" is not an e-mail address: the contact is imported without it/).waitFor()
    await page.getByText('Notiz', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Open the contacts' }).click()
    await row(page, /Tim/).waitFor()

    await page.goto(`${baseOf(page)}/contacts/import`)
    const cards = 'BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Barbara Liskov\r\nTEL:tel:+12025550111\r\nEND:VCARD\r\n'
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'people.vcf', mimeType: 'text/vcard', buffer: Buffer.from(cards) })
    await preview.getByRole('row', { name: /Barbara Liskov/ }).waitFor()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('The import is complete').waitFor()
  })

  test('opt-outs: a number is added, found and removed, and a pasted list says what became of its lines', async () => {
    const page = await signIn(apiKey, '/contacts/opt-outs')
    await page.getByText('No opt-outs yet').waitFor()
    await isWellMade(page, 'no opt-outs')
    await page.getByRole('button', { name: 'Add an opt-out' }).first().click()
    const form = page.getByRole('dialog', { name: 'Add an opt-out' })
    await form.getByLabel('Contact', { exact: true }).fill('+447700900601')
    await form.getByLabel('Reason').selectOption({ label: 'Complaint' })
    await form.getByLabel('Note').fill('By telephone')
    await isWellMade(page, 'the form of an opt-out')
    await form.getByRole('button', { name: 'Add an opt-out' }).click()
    await row(page, /7700 900601 All numbers Complaint By telephone/).waitFor()

    await page.getByRole('button', { name: 'Import', exact: true }).click()
    const importing = page.getByRole('dialog', { name: 'Import opt-outs' })
    await importing.getByLabel('Or paste numbers').fill('+447700900601\n+447700900602\nnobody\n')
    await isWellMade(page, 'the form of an import of opt-outs')
    await importing.getByRole('button', { name: 'Import', exact: true }).click()
    await importing.getByText('1 opt-out is added').waitFor()
    await importing.getByText('1 was there already.').waitFor()
    await importing.getByRole('row', { name: /^Line 3 .*contact_number: "nobody" is not a phone number/ }).waitFor()
    await isWellMade(page, 'the result of an import of opt-outs')
    await importing.locator('footer, form, .stack').getByRole('button', { name: 'Close', exact: true }).last().click()
    await row(page, /7700 900602 All numbers Imported/).waitFor()

    await page.getByLabel('Number', { exact: true }).fill('+44 7700 900602')
    await row(page, /900601/).waitFor({ state: 'detached' })
    await isWellMade(page, 'opt-outs')
    assert.match(await savedFile(page, 'Export CSV'), /^uuid,channel,contact_number,.*\r\n.*,sms,\+447700900602,/)
    await row(page, /900602/)
      .getByRole('button')
      .click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    const question = page.getByRole('dialog', { name: /again\?$/ })
    await question.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No opt-out matches').waitFor()
    const { opt_outs } = (await call('GET', '/open/sms/opt-outs')).body
    assert.deepEqual(
      opt_outs.map((one: { contact_number: string; reason: string }) => [one.contact_number, one.reason]),
      [['+447700900601', 'complaint']],
    )
  })

  test('the picture of a contact comes from the platform alone', furtherWalk(), async () => {
    const gif = Buffer.from('47494638396101000100800000000000ffffff2c00000000010001000002024401003b', 'hex')
    const server = createServer((_, response) => response.end(gif)).listen(0, '127.0.0.1')
    after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo // it listens on TCP
    const picture = { profile_pic_url: `http://127.0.0.1:${port}/a.gif` }
    const id = await create('Vera Rubin', [phone('+447700900305')], picture)
    const page = await signIn(apiKey, `/contacts/${id}`)
    await page.getByRole('heading', { level: 1, name: 'Vera Rubin' }).waitFor()
    await until(() => page.evaluate<boolean>("document.querySelector('main img')?.naturalWidth === 1"))
  })
})
