import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { loadCatalogue, stockSandbox } from '../../src/domains/numbers/catalogue/load-catalogue.ts'
import { isAccessible } from '../accessible.ts'
import { needs } from '../needs.ts'
import { member } from '../persons.ts'
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

describe('numbers in the console', needs('chromium'), () => {
  test('first-number: from an empty account to a number that rings a person', async () => {
    const tenant = await world.tenant()
    const mia = await member(world, tenant, 'admin')
    const page = await signIn(mia, '/numbers')
    await page.getByText('No numbers yet').waitFor()
    await isWellMade(page, 'no numbers')
    await toBritishMobiles(page, 'click')
    await isWellMade(page, 'a place in the shop')
    await page.getByRole('radio').nth(2).check()
    await page.getByRole('button', { name: 'Hold for 30 minutes' }).click()
    const held = page.getByRole('region', { name: 'Held numbers' })
    await held.getByRole('timer').waitFor()
    await isAccessible(page, 'a held number')
    const [reservation] = (await world.call(tenant, 'GET', '/open/numbers/reservations')).body.data.reservations
    // The chosen number is in the address: a reload shows the same.
    await page.reload()
    const checkout = page.getByRole('complementary', { name: 'Your number' })
    await checkout.getByLabel('Name').fill('Front desk')
    await checkout.getByLabel('Rings').selectOption({ label: 'Mia admin' })
    // The last acts by keyboard alone.
    await checkout.getByRole('button', { name: /^Buy now for/ }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: /^\+44 / }).waitFor()
    await page.getByText('Rings Mia admin').waitFor()
    const [number] = await numbersOf(tenant)
    assert.deepEqual(
      [number.phone_number, number.friendly_name, number.inbound_user_uuid],
      [reservation.number, 'Front desk', mia.user],
    )
    const { transfers } = (await world.call(tenant, 'GET', '/open/ledger?kind=number_purchase')).body
    assert.equal(transfers.length, 1)
    await page.getByText(`${number.phone_number} was assigned to the account`).waitFor()
    await isWellMade(page, 'a number')
    await page.getByRole('link', { name: 'Numbers' }).first().click()
    await page.getByRole('rowheader', { name: /Front desk/ }).waitFor()
    await isWellMade(page, 'numbers')
  })
})

void [allow, widths]
