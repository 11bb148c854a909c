import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { startVoice } from '../../src/calls/testing.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { openChromium } from './ground.ts'

// What a newcomer does first, against the whole program: the softphone, a handset of the sandbox behind a trunk, and the
// record of the call.

describe('a newcomer with the softphone', needs('chromium'), () => {
  let platform: Awaited<ReturnType<typeof startVoice>>
  let browser: Browser
  let page: Page

  before(async () => {
    platform = await startVoice()
    browser = await openChromium()
    page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
    page.setDefaultTimeout(30_000)
    page.on('pageerror', (error) => assert.fail(error))
  })
  after(async () => {
    await browser?.close()
    await platform?.end()
  })

  const state = (wanted: string) => page.locator(`#line[data-state=${wanted}]`).waitFor()
  const newest = () =>
    until(async () => {
      const [cdr] = (await platform.call('GET', '/open/voip/call-history')).body.cdrs
      return cdr && !cdr.active ? cdr : null
    })

  test('calls a handset, hears its tone, and finds the call and its cost', async () => {
    await page.goto(`${platform.url}/console/phone`)
    await page.getByLabel('API key').fill('an api key for these tests')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Get one in Britain' }).click()
    await page.getByRole('button', { name: 'one that answers' }).click()
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await state('talking')
    await page.locator('#quality[data-bars="4"]').waitFor()
    await page.getByRole('button', { name: 'Hang up' }).click()
    await state('idle')
    const cdr = await newest()
    assert.deepEqual([cdr.status, cdr.to_number, cdr.direction], ['COMPLETED', '+447700900123', 'O'])
    assert.ok(cdr.call_cost.call_price > 0)
    await page
      .locator('#calls li')
      .filter({ hasText: `$${cdr.call_cost.call_price.toFixed(4)}` })
      .waitFor()
    const { calls } = (await platform.call('GET', '/sandbox/handsets/+447700900123')).body
    assert.equal(calls.length, 1)
  })

  test('hears that a handset is busy', async () => {
    await page.getByRole('button', { name: 'one that is busy' }).click()
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.locator('#calls li').filter({ hasText: 'busy' }).waitFor()
    assert.equal((await newest()).status, 'BUSY')
  })

  test('is called by a handset', async () => {
    await page.getByRole('button', { name: 'let a telephone call it' }).click()
    await state('incoming')
    await page.getByRole('button', { name: 'Accept' }).click()
    await state('talking')
    await page.getByRole('button', { name: 'Hang up' }).click()
    await state('idle')
    const cdr = await newest()
    assert.deepEqual([cdr.status, cdr.from, cdr.direction], ['COMPLETED', '+447700900123', 'I'])
  })
})
