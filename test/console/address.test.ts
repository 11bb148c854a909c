import assert from 'node:assert/strict'
import { test } from 'node:test'
import { furtherWalk } from '../needs.ts'
import { member } from '../persons.ts'
import { isWellMade, openConsole } from './fixture.ts'

// The console at another address than the public one, and where no passkey can work.

const { world, url, open, signIn, allow } = await openConsole({}, {}, 'localhost')
const there = url.replace('localhost', '127.0.0.1')

test('a page at another address than the public one says so, with a link to it', furtherWalk(), async () => {
  const tenant = await world.tenant()
  const owner = await member(world, tenant, 'owner')
  // The browser watches for requests to another host.
  allow(/^foreign: http:\/\/127/)
  const outside = await open('/console/sign-in')
  assert.equal(await outside.getByText(/the address of this installation is/).count(), 0)
  await outside.goto(`${there}/console/sign-in`)
  await outside.getByText(`You opened ${there}, but the address of this installation is ${url}.`).waitFor()
  await isWellMade(outside, 'a sign-in at another address')

  const page = await signIn(owner, '/numbers')
  await page.getByRole('heading', { level: 1 }).waitFor()
  assert.equal(await page.getByText(/the address of this installation is/).count(), 0)
  const [cookie] = await page.context().cookies()
  assert.ok(cookie)
  await page.context().addCookies([{ name: cookie.name, value: cookie.value, url: there }])
  await page.goto(`${there}/console/${tenant.uuid}/numbers`)
  await page.getByText(/the address of this installation is/).waitFor()
  await isWellMade(page, 'a page at another address')
  await page.goto(`${there}/console/you/telephone`)
  await page.getByText('The telephone works at the public address of the console only.').waitFor()
  await page.goto(`${there}/console/you/security`)
  await page.getByText(`Passkeys work at ${url}.`).waitFor()
  await page.getByRole('link', { name: 'Open it there' }).click()
  await page.waitForURL(`${url}/console/you/security`)
  await page.getByText('You have no passkeys yet.').waitFor()
})

test('no text offers a passkey where none can work', furtherWalk(), async () => {
  const atAddress = await openConsole()
  const tenant = await atAddress.world.tenant()
  const owner = await member(atAddress.world, tenant, 'owner')
  const page = await atAddress.signIn(owner, '/settings')
  await page.getByText('Members without an authenticator app have to set one up first.').waitFor()
  await atAddress.world.db.run`update accounts set second_factor_required = true where id = ${tenant.id}`
  const late = await atAddress.signIn(await member(atAddress.world, tenant, 'agent'), '/console/you/security')
  await late.getByText('Set up an authenticator app here, and everything else opens.').waitFor()
  await late.getByText(/Passkeys cannot work here/).waitFor()
  const text = (await late.locator('main').textContent()) ?? ''
  assert.doesNotMatch(text, /Add a passkey|no passkeys yet|fingerprint/)
})
