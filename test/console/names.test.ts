import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { furtherWalk } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { joinPlatform, openPlatform } from './fixture.ts'

// The same person has one name on every page, whoever changes it.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { call } = platform
const { signIn, allow } = openPlatform(platform)
const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')
const linus = await joinPlatform(platform, 'Linus Berg')

type User = { uuid: string; first_name: string; last_name: string }

const menuOf = (page: Page, name: string) => page.getByRole('button', { name: `${name}: your menu` })

test('a name given by API is shown in the console at once, and the reverse', furtherWalk(), async () => {
  // The rows of the table have other names then.
  allow(/^layout shift/)
  const page = await signIn(ruth, '/people')
  await menuOf(page, 'Ruth Asawa').waitFor()
  const names = { first_name: 'Ruth', last_name: 'Aiko Asawa' }
  assert.equal((await call('PATCH', `/open/members/${ruth.user}`, names)).status, 200)
  await menuOf(page, 'Ruth Aiko Asawa').waitFor()
  await page.getByRole('rowheader', { name: /Ruth Aiko Asawa/ }).waitFor()

  await page.goto(`${platform.url}/console/you`)
  const field = page.getByRole('textbox', { name: 'Name' })
  assert.equal(await field.inputValue(), 'Ruth Aiko Asawa')
  await field.fill('Ruth Lanier')
  await page.getByRole('button', { name: 'Save' }).first().click()
  await menuOf(page, 'Ruth Lanier').waitFor()
  const { users } = (await call('GET', '/open/users')).body.data
  const user = users.find(({ uuid }: User) => uuid === ruth.user)
  assert.deepEqual([user.first_name, user.last_name], ['Ruth', 'Lanier'])

  // Acts of earlier names are found, and have the name of now.
  await page.goto(`${platform.url}/console/${ruth.account}/settings/audit`)
  await page.getByRole('combobox', { name: 'By' }).selectOption({ label: 'Ruth Lanier' })
  await page.waitForURL(/actor=USR/)
  await page.getByRole('cell', { name: 'Ruth Lanier' }).first().waitFor()
  assert.equal(await page.getByRole('cell', { name: 'Ruth Aiko Asawa', exact: true }).count(), 0)
})

test('a colleague is no former one before names are read, or without an inbox', furtherWalk(), async () => {
  allow(/^layout shift/)
  const { number } = await buyNumber(platform)
  await call('POST', '/sandbox/handsets/+447700900123/sms', { to: number, text: 'Hello' })
  const { uuid } = await until(async () => (await call('GET', '/open/conversations')).body.conversations[0])
  const assigned = await call('PATCH', `/open/conversations/${uuid}`, { assignee_uuid: linus.user })
  assert.equal(assigned.status, 200, JSON.stringify(assigned.body))
  assert.equal((await call('PATCH', `/open/members/${linus.user}`, { role: 'developer' })).status, 200)

  const page = await signIn(ruth, '/no/page')
  const held = Promise.withResolvers<void>()
  await page.route('**/open/team', async (route) => {
    await held.promise
    await route.continue()
  })
  await page.goto(`${platform.url}/console/${ruth.account}/inbox/all/${uuid}`)
  const line = page.getByRole('log', { name: 'Messages' }).getByText(/assigned/i)
  await line.first().waitFor()
  assert.doesNotMatch((await page.locator('body').textContent()) ?? '', /former/)
  held.resolve()
  await page
    .getByRole('log', { name: 'Messages' })
    .getByText(/Linus Berg/)
    .first()
    .waitFor()
  assert.doesNotMatch((await page.locator('body').textContent()) ?? '', /former/)
})

test('the first number of the start page rings the buyer, and the request says so', furtherWalk(), async () => {
  const page = await signIn(ruth, '/start')
  await page.getByText('Get a number').first().click()
  const rings = page.getByRole('combobox', { name: 'Rings' })
  await rings.waitFor()
  assert.equal(await rings.inputValue(), ruth.user)
  await page
    .getByText(/inbound_user_uuid/)
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Buy it here' }).click()
  await until(async () => {
    const { numbers } = (await call('GET', '/open/voip/virtual-numbers')).body
    return numbers.some(({ inbound_user_uuid: user }: { inbound_user_uuid: string }) => user === ruth.user)
  })
})
