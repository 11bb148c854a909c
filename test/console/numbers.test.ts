import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { loadCatalogue, stockSandbox } from '../../src/domains/numbers/catalogue/load-catalogue.ts'
import { isAccessible } from '../accessible.ts'
import { furtherWalk, needs } from '../needs.ts'
import { goodPassword, member } from '../persons.ts'
import type { Tenant } from '../world.ts'
import { isWellMade, openConsole, widths } from './fixture.ts'

// Walks through the pages of numbers, with the catalogue and the sandbox's stock of numbers.

const { signIn, allow, world } = await openConsole()
await loadCatalogue(world.db)
await world.db.begin(stockSandbox)

const numbersOf = async (tenant: Tenant) => (await world.call(tenant, 'GET', '/open/voip/virtual-numbers')).body.numbers

/** Chooses the first country, place and number that the walk is about: a British mobile number. */
const toBritishMobiles = async (page: Page, press: 'click' | 'tap') => {
  await page.getByRole('link', { name: 'Buy a number' }).first()[press]()
  await page.getByRole('searchbox', { name: 'Find a country' }).fill('kingdom')
  await page.getByRole('link', { name: /United Kingdom/ })[press]()
  await page.getByRole('combobox', { name: 'Type' }).selectOption({ label: 'Mobile' })
  const table = page.getByRole('table', { name: 'Groups of numbers in United Kingdom' })
  await table.getByRole('cell', { name: 'Mobile' }).first().waitFor()
  await table.getByRole('rowheader').first().getByRole('link')[press]()
}

/** Gives the files and the answer that a German number needs, and sends them. */
const answerAll = async (page: Page, address: string) => {
  const file = (name: string) => ({ name, mimeType: 'application/pdf', buffer: Buffer.from(`%PDF-1.7 ${name}`) })
  await page.getByLabel('File: Identity').setInputFiles(file('register.pdf'))
  await page.getByLabel('File: Proof').setInputFiles(file('proof.pdf'))
  await page.getByLabel('Answer: Address').fill(address)
  await page.getByRole('button', { name: 'Send to the operator' }).click()
}

const prove = async (page: Page) => {
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await dialog.getByLabel('Password', { exact: true }).fill(goodPassword)
  await page.keyboard.press('Enter')
}

describe('numbers in the console', needs('chromium'), () => {
  test('first-number: from an empty account to a number that rings a person', async () => {
    const tenant = await world.tenant()
    const mia = await member(world, tenant, 'admin')
    const page = await signIn(mia, '/numbers')
    await page.getByText('No numbers yet').waitFor()
    await isWellMade(page, 'no numbers')
    await toBritishMobiles(page, 'click')
    await page.getByRole('radio').nth(2).check()
    await isWellMade(page, 'a place in the shop')
    await page.getByRole('button', { name: 'Hold for 30 minutes' }).click()
    const held = page.getByRole('region', { name: 'Held numbers' })
    await held.getByRole('timer').waitFor()
    const [reservation] = (await world.call(tenant, 'GET', '/open/numbers/reservations')).body.data.reservations
    // The chosen number is in the address: a reload shows the same.
    await page.reload()
    await held.getByRole('timer').waitFor()
    await isAccessible(page, 'a held number')
    const checkout = page.getByRole('complementary', { name: 'Your number' })
    await checkout.getByLabel('Name').fill('Front desk')
    assert.equal(await checkout.getByLabel('Rings').inputValue(), mia.user, 'the buyer is chosen')
    // The last act by keyboard.
    await checkout.getByRole('button', { name: /^Buy now for/ }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Rings Mia admin').waitFor()
    const [number] = await numbersOf(tenant)
    assert.deepEqual(
      [number.phone_number, number.friendly_name, number.inbound_user_uuid],
      [reservation.number, 'Front desk', mia.user],
    )
    const { transfers } = (await world.call(tenant, 'GET', '/open/ledger?kind=number_purchase')).body
    assert.deepEqual([transfers.length, transfers[0].item.uuid], [1, number.uuid])
    await page.getByText(`${number.phone_number} was assigned to the account`).waitFor()
    await isWellMade(page, 'a number')
    await page.getByRole('link', { name: 'Your numbers' }).click()
    await page.getByRole('rowheader', { name: /Front desk/ }).waitFor()
    await isWellMade(page, 'numbers')
  })

  test('first-number: an empty balance and a number that was taken are explained', furtherWalk(), async () => {
    const [tenant, other] = [await world.tenant({ balance: '3' }), await world.tenant()]
    const page = await signIn(tenant, '/numbers')
    await toBritishMobiles(page, 'click')
    const first = page.getByRole('radio').first()
    await first.check()
    const chosen = await first.inputValue()
    const taken = await world.call(other, 'POST', '/open/numbers/purchase', { number: chosen })
    assert.equal(taken.status, 201, JSON.stringify(taken.body))
    allow(/409/, /402/)
    const buy = page.getByRole('button', { name: /^Buy now for/ })
    await buy.click()
    await page.getByText('was taken meanwhile').waitFor()
    await isAccessible(page, 'a number that was taken')
    assert.deepEqual(await numbersOf(tenant), [])
    await page.getByRole('radio').nth(1).check()
    // The balance shrinks after the page has read it.
    const debit = { amount: '2.50', reason: 'test' }
    assert.equal((await world.call('operator', 'POST', `/operator/accounts/${tenant.uuid}/debit`, debit)).status, 201)
    await buy.click()
    await page.getByText('$2.50 is missing').waitFor()
    await isAccessible(page, 'a balance that is too small')
    assert.deepEqual(await numbersOf(tenant), [])
  })

  test('first-number by touch at 360 px', furtherWalk(), async () => {
    const tenant = await world.tenant()
    const viewport = { width: widths.phone, height: 640 }
    const page = await signIn(tenant, '/numbers', { viewport, hasTouch: true, isMobile: true })
    await toBritishMobiles(page, 'tap')
    await page.getByRole('radio').nth(1).tap()
    await page.getByRole('button', { name: 'Hold for 30 minutes' }).tap()
    await page.getByRole('button', { name: /^Give back/ }).tap()
    await page.getByRole('region', { name: 'Held numbers' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Buy now for/ }).tap()
    await page.getByText('Rings no one').waitFor()
    assert.equal((await numbersOf(tenant)).length, 1)
  })

  test('documents: a refusal with its reason and an approval reach the open page', furtherWalk(), async () => {
    // The decision of the operator changes the documents at the top of the open page.
    allow(/^layout shift .*\/numbers\/DID/)
    const tenant = await world.tenant()
    const berlin = '/open/numbers/groups?country=DE&did_type=local&city_name_or_prefix=Berlin'
    const [group] = (await world.call(tenant, 'GET', berlin)).body.data.groups
    const bought = await world.call(tenant, 'POST', '/open/numbers/purchase', { group_id: group.id })
    const { uuid } = bought.body.data.numbers[0]
    const decide = async (verb: string, body: object = {}) => {
      const { status } = await world.call('operator', 'POST', `/operator/registrations/${uuid}/${verb}`, body)
      assert.equal(status, 200)
    }
    const page = await signIn(tenant, `/numbers/${uuid}`)
    await page.getByText('3 answers are missing').waitFor()
    await isWellMade(page, 'missing documents')
    await answerAll(page, 'Poststr. 1, Berlin')
    await page.getByText('In review').waitFor()
    await isAccessible(page, 'documents in review')
    await decide('refuse', { reason: 'The register is unreadable' })
    await page.getByText('The register is unreadable', { exact: true }).waitFor()
    await answerAll(page, 'Poststr. 2, Berlin')
    await page.getByText('In review').waitFor()
    const { given } = (await world.call('operator', 'GET', `/operator/registrations/${uuid}`)).body.registration
    assert.ok(given.some(({ value }: { value?: string }) => value === 'Poststr. 2, Berlin'))
    await decide('approve')
    await page.getByText('Active', { exact: true }).waitFor()
    await page.getByText('The regulator’s requirements are met.').waitFor()
  })

  test(
    'a number is changed, found by its filters, and released by typing it, after a fresh proof',
    furtherWalk(),
    async () => {
      const tenant = await world.tenant()
      const bought = await world.call(tenant, 'POST', '/open/numbers/purchase', {
        group_id: 'GB-mobile-74-united-kingdom',
      })
      const { uuid, formatted_phone_number: formatted } = bought.body.data.numbers[0]
      const mia = await member(world, tenant, 'admin')
      const page = await signIn(mia, `/numbers/${uuid}`)
      const settings = page.getByRole('form', { name: 'Settings' })
      await settings.getByLabel('Name').fill('Support')
      await settings.getByLabel('Record incoming calls').check()
      await settings.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Settings saved').first().waitFor()
      const [changed] = await numbersOf(tenant)
      assert.deepEqual([changed.friendly_name, changed.record_inbound], ['Support', true])
      await world.db.begin(async (tx) => {
        await tx.run`update sessions set proved_at = now() - interval '1 hour'`
        await world.parts.changes.invalidate(tx, 'sessions')
      })
      await page.goto(page.url().replace(/DID.*/, '?q=suppo&status=ACTIVE'))
      await page
        .getByRole('rowheader', { name: /Support/ })
        .getByRole('link')
        .click()
      allow(/403/, /404/)
      await page.getByRole('button', { name: 'Release number' }).click()
      const dialog = page.getByRole('dialog', { name: `Release ${formatted}?` })
      await dialog.getByLabel(/^Type/).fill(formatted)
      await isAccessible(page, 'release of a number')
      await dialog.getByRole('button', { name: 'Release number' }).click()
      await prove(page)
      await page.getByText('No numbers yet').waitFor()
      assert.deepEqual(await numbersOf(tenant), [])
      await page.goBack()
      await page.getByText('This number was released').waitFor()
      await isAccessible(page, 'a released number')
    },
  )

  test('places without stock lead to near ones, and a caller ID needs a code', furtherWalk(), async () => {
    const tenant = await world.tenant()
    const page = await signIn(tenant, '/numbers/shop/US')
    await page.getByText('Choose a region', { exact: true }).waitFor()
    await isWellMade(page, 'a large country')
    await world.db.run`update number_stock set free = 0 where group_id like 'GB-local-1225-%'`
    await page.goto(page.url().replace('/US', '/GB?type=local&place=Bath'))
    await page.getByRole('list', { name: 'Nearest places with free numbers' }).getByRole('link').first().click()
    await page.getByRole('table', { name: /^Groups of numbers/ }).waitFor()
    await isWellMade(page, 'places')
    await page.getByRole('link', { name: 'Caller IDs' }).click()
    await page.getByText('No caller IDs yet').waitFor()
    await isWellMade(page, 'caller IDs')
    await page.getByRole('button', { name: 'Add your number' }).first().click()
    const dialog = page.getByRole('dialog', { name: 'Add your number' })
    await dialog.getByRole('textbox', { name: 'Your number' }).fill('+447700900123')
    allow(/409/)
    await dialog.getByRole('button', { name: 'Send code' }).click()
    await dialog.getByRole('alert').waitFor()
    await isAccessible(page, 'a refused caller ID')
  })
})
