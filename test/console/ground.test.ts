import assert from 'node:assert/strict'
import { globSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { isAccessible } from '../accessible.ts'
import { furtherWalk, needs } from '../needs.ts'
import { freshClaim, goodPassword, member, tokenOf } from '../persons.ts'
import { until } from '../platform.ts'
import { isWellMade, openConsole, widths, withWorker } from './fixture.ts'

// The ground of the console: what is served and under which policy, its size, sign-in, and what every page relies on.

const { world, url, open, signIn, allow, requests } = await openConsole()

const dist = join(import.meta.dirname, '../../console/dist')

type Manifest = {
  readonly entry: readonly string[]
  readonly style: string
  readonly routes: readonly [string, readonly string[]][]
  readonly page: string
}
const manifest: Manifest = JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8'))
const gzipped = (file: string): number => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length
const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0)
const kilobyte = 1024

/** A navigation of a browser, without one. */
const visit = (path: string, headers: Record<string, string> = {}) =>
  world.app.inject({ url: path, headers: { accept: 'text/html', ...headers } })

/** The files that a file loads before it runs, itself among them. */
const withImports = (file: string, found = new Set<string>()): ReadonlySet<string> => {
  if (found.has(file)) return found
  found.add(file)
  const code = readFileSync(join(dist, file), 'utf8')
  for (const [, name = ''] of code.matchAll(/(?:from|import)"\/console\/([^"]+\.js)"/g)) withImports(name, found)
  return found
}

test('the usable inbox has at most 60 KB of script, 80 KB with a thread, 14 KB of styles and 3 KB of HTML', () => {
  const [, list = []] = manifest.routes.find(([pattern]) => pattern.includes('/inbox/')) ?? []
  const first = new Set([...manifest.entry, ...list])
  const script = sum([...first].map(gzipped))
  assert.ok(script > 20 * kilobyte && script <= 60 * kilobyte, `script: ${script}`)
  const [pane = ''] = globSync('assets/thread-pane-*.js', { cwd: dist })
  const thread = sum([...new Set([...first, ...withImports(pane)])].map(gzipped))
  assert.ok(thread > script && thread <= 80 * kilobyte, `with a thread: ${thread}`)
  assert.ok(gzipped(manifest.style) <= 14 * kilobyte, `styles: ${gzipped(manifest.style)}`)
  const html = gzipSync(manifest.page).length
  assert.ok(html <= 3 * kilobyte, `HTML: ${html}`)
})

test('each page adds at most 25 KB of script, and everything that is built has at most 288 KB', () => {
  assert.ok(manifest.routes.length >= 3, `saw only ${manifest.routes.length} pages`)
  for (const [pattern, files] of manifest.routes) {
    assert.ok(files.length > 0, `${pattern} has no chunk of its own`)
    const size = sum(files.map(gzipped))
    assert.ok(size <= 25 * kilobyte, `${pattern}: ${size}`)
  }
  const scripts = globSync('**/*.js', { cwd: dist })
  assert.ok(sum(scripts.map(gzipped)) <= 288 * kilobyte, `scripts: ${sum(scripts.map(gzipped))}`)
  const all = globSync('**/*', { cwd: dist }).map((path) => statSync(join(dist, path)))
  const total = sum(all.filter((entry) => entry.isFile()).map(({ size }) => size))
  assert.ok(total <= 1_120 * kilobyte, `dist: ${total}`)
})

test('every address of the console is one page, under a policy without exceptions', async () => {
  for (const path of ['/console', '/console/ACC1/developers/keys', '/console/no/such/page', '/console/claim']) {
    const { statusCode, headers, body } = await visit(path)
    assert.equal(statusCode, 200, path)
    assert.match(body, /<div id="app">/)
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
    assert.match(policy, /require-trusted-types-for 'script'; trusted-types trunkline$/)
    assert.doesNotMatch(policy, /unsafe|\*|https?:|data:/)
    assert.equal(headers['cache-control'], 'no-cache')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
  }
  const { headers, body } = await visit('/console')
  assert.match(String(headers.link), /\/console\/assets\/[\w-]+\.js>; rel=modulepreload/)
  assert.doesNotMatch(body, /<script(?![^>]*src=)|<style|style=|onload=/)
  assert.equal((await visit('/console', { 'if-none-match': String(headers.etag) })).statusCode, 304)
})

test('the response to a page names the modules of that page, and no other', async () => {
  const [pattern, files] = manifest.routes.find(([each]) => each.endsWith('/developers/keys')) ?? ['', []]
  const links = String((await visit(pattern.replace(':account', 'ACC1'))).headers.link)
  for (const file of [...manifest.entry, ...files]) assert.ok(links.includes(`/console/${file}>`), file)
  assert.ok(!String((await visit('/console')).headers.link).includes(files[0] ?? ''))
})

test('assets are served in the encoding that the browser accepts, and for ever', async () => {
  const path = `/console/${manifest.entry.at(-1)}`
  for (const [accepted, encoding] of [
    ['gzip, deflate, br', 'gzip'],
    ['identity', undefined],
  ] as const) {
    const { headers, statusCode } = await world.app.inject({ url: path, headers: { 'accept-encoding': accepted } })
    assert.equal(statusCode, 200)
    assert.equal(headers['content-encoding'], encoding)
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.match(String(headers['content-type']), /^(?:text|application)\/javascript/)
    assert.match(String(headers.vary), /accept-encoding/i)
  }
  const missing = await world.app.inject({ url: '/console/assets/main-missing.js' })
  assert.equal(missing.statusCode, 404)
})

test('endpoints of sessions are not replaced by the page', async () => {
  const json = { accept: 'application/json' }
  assert.equal(typeof (await world.app.inject({ url: '/console/claim', headers: json })).json().claimed, 'boolean')
  assert.equal((await visit('/console/session', json)).statusCode, 401)
})

describe('the console in a browser', needs('chromium'), () => {
  test('the first visit needs at most nine requests, and a later one three and no asset', furtherWalk(), async () => {
    const tenant = await world.tenant()
    requests()
    const page = await signIn(tenant, '/developers/keys', withWorker)
    await page.getByRole('table').waitFor()
    // Later than the first page come the worker, and the signals to a person who looks elsewhere.
    const [attention = ''] = globSync('assets/attention-*.js', { cwd: dist })
    const signals = readFileSync(join(dist, attention), 'utf8').match(/[\w-]+\.js/g) ?? []
    const [, own = []] = manifest.routes.find(([pattern]) => pattern.endsWith('/developers/keys')) ?? []
    const first = [...manifest.entry, ...own].map((file) => basename(file))
    const later = signals.filter((file) => !first.includes(file))
    const cold = requests()
      .filter((request) => !/sw\.js|attention-|icon-|webmanifest|POST/.test(request))
      .filter((request) => !later.includes(basename(request)))
    // The ninth is the file with the parts that the inbox does without.
    assert.ok(cold.length <= 9, cold.join('\n'))
    // The worker stores the assets once the page is idle.
    const assets = globSync('assets/*.{js,css,svg}', { cwd: dist }).length
    const stored = `caches.keys().then(([name]) => name && caches.open(name)).then((cache) => cache && cache.keys())
      .then((all) => all?.length ?? 0)`
    await until(async () => (await page.evaluate<number>(stored)) >= assets)
    await until(() => page.evaluate<boolean>('navigator.serviceWorker.controller !== null'))
    requests()
    await page.reload()
    await page.getByRole('table').waitFor()
    const warm = requests().filter((request) => !/sw\.js/.test(request))
    assert.deepEqual(
      warm.filter((request) => /\/assets\//.test(request) && !/webmanifest/.test(request)),
      [],
    )
    assert.ok(warm.length <= 3, warm.join('\n'))
  })

  test('a visitor without a session is led to sign-in, and then to the page of the link', async () => {
    const tenant = await world.tenant()
    const page = await open(`/console/${tenant.uuid}/developers/keys`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.match(page.url(), /\/console\/sign-in\?to=/)
    await isWellMade(page, 'sign-in')
    await page.getByRole('button', { name: 'Use a key instead' }).click()
    allow(/401/)
    await page.getByRole('textbox', { name: 'API key or operator key' }).fill('UAKwrong')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('This key is not valid.').first().waitFor()
    await isAccessible(page, 'refused sign-in')
    await page.getByRole('textbox', { name: 'API key or operator key' }).fill(tenant.key)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    assert.equal(new URL(page.url()).pathname, `/console/${tenant.uuid}/developers/keys`)
    // A page, its scripts and its storage hold nothing that signs in.
    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    )
    assert.ok(!stored.includes(tenant.key) && !stored.includes('trunkline='), stored)
  })

  test('the first person sets up the installation by the link, and the link works once', furtherWalk(), async () => {
    const link = `/console/claim#${await freshClaim(world)}`
    const page = await open(link)
    await page.getByLabel('Your name').waitFor()
    await isWellMade(page, 'claim')
    await page.getByLabel('Your name').fill('Olive Operator')
    await page.getByLabel('Email').fill('olive@example.com')
    await page.getByLabel('Password', { exact: true }).fill(goodPassword)
    await page.getByRole('button', { name: 'Create your user' }).click()
    await page.getByRole('button', { name: 'Olive Operator: your menu' }).waitFor()
    assert.ok(!page.url().includes('#'))
    const second = await open(link)
    await second.getByText('This installation is set up already').waitFor()
    await isAccessible(second, 'used claim')
  })

  test('an invited person chooses a password, and sees only pages of the role', furtherWalk(), async () => {
    const tenant = await world.tenant()
    const body = { first_name: 'Mia', last_name: 'Agent', email: 'mia@example.com', role: 'agent' }
    const { invite_url } = (await world.call(tenant, 'POST', '/open/members', body)).body
    const page = await open(`/console/invitation#${tokenOf(invite_url)}`)
    await page.getByLabel('Password', { exact: true }).fill(goodPassword)
    await isWellMade(page, 'invitation')
    await page.getByRole('button', { name: 'Accept and sign in' }).click()
    await page.getByRole('button', { name: 'Mia Agent: your menu' }).waitFor()
    await page.goto(`${url}/console/${tenant.uuid}/developers/keys`)
    await page.getByText('Ask a person with one of these roles').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Developers' }).count(), 0)
    await isAccessible(page, 'forbidden page')
  })

  test('a key is created, shown once, and revoked after a fresh proof', async () => {
    const mia = await member(world, await world.tenant(), 'developer')
    const page = await signIn(mia, '/developers/keys')
    await page.getByRole('table').waitFor()
    await isWellMade(page, 'keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const form = page.getByRole('dialog', { name: 'Create key' })
    await form.getByRole('button', { name: 'Create key' }).click()
    await form.getByText('Fill in this field.').waitFor()
    await isAccessible(page, 'form with a fault')
    await form.getByLabel('Label').fill('Website')
    await form.getByLabel('Only what I choose').check()
    await form.getByLabel('Develop: keys, webhooks, events').check()
    await world.db.run`update sessions set proved_at = now() - interval '1 hour'`
    await world.db.begin((tx) => world.parts.changes.invalidate(tx, 'sessions'))
    allow(/403/)
    await form.getByRole('button', { name: 'Create key' }).click()
    await prove(page)
    const shown = page.getByRole('dialog', { name: 'Key created' })
    const key = (await shown.getByText(/^UAK/).first().innerText()).trim()
    await isAccessible(page, 'new key')
    assert.equal((await world.app.inject({ url: '/open/keys', headers: { 'x-user-api-key': key } })).statusCode, 200)
    await shown.getByRole('button', { name: 'I have stored it' }).click()
    const row = page.getByRole('row', { name: /Website/ })
    await row.waitFor()
    assert.ok(!(await page.content()).includes(key))
    await row.getByRole('button', { name: 'Actions for Website' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('status').getByText('“Website” is revoked').waitFor()
    await row.waitFor({ state: 'detached' })
    assert.equal((await world.app.inject({ url: '/open/keys', headers: { 'x-user-api-key': key } })).statusCode, 401)
  })

  test(
    'a session that ended elsewhere asks to sign in over the page at once, and the form stays as it was',
    furtherWalk(),
    async () => {
      const tenant = await world.tenant()
      const mia = await member(world, tenant, 'developer')
      const page = await signIn(mia, '/developers/keys?create=1')
      const form = page.getByRole('dialog', { name: 'Create key' })
      await form.getByLabel('Label').fill('Half typed')
      allow(/401/) // a request that is under way then
      assert.equal((await mia.call('DELETE', '/console/session')).status, 200)
      const again = page.getByRole('dialog', { name: 'Sign in again' })
      await again.getByLabel('Password', { exact: true }).fill(goodPassword)
      await isAccessible(page, 'sign in again')
      await again.getByRole('button', { name: 'Sign in' }).click()
      await again.waitFor({ state: 'detached' })
      await form.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('dialog', { name: 'Key created' }).waitFor()
      const { keys } = (await world.call(tenant, 'GET', '/open/keys')).body
      assert.equal(keys.filter(({ label }: { label: string }) => label === 'Half typed').length, 1)
    },
  )

  test('the palette and single keys lead everywhere, and keys do nothing in a field', async () => {
    const page = await signIn(await world.tenant(), '/developers/keys')
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Page, person, number or ID' })
    await field.fill('sess')
    await page.getByRole('option', { name: 'Your sessions' }).waitFor()
    await isAccessible(page, 'palette')
    await page.keyboard.press('Enter')
    const heading = page.getByRole('heading', { level: 1, name: 'Your sessions' })
    await heading.waitFor()
    await until(() => page.evaluate<boolean>("document.activeElement.matches('h1')"))
    assert.match(await page.title(), /^Your sessions · /)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await isAccessible(page, 'keyboard shortcuts')
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press('d')
    await page.getByRole('heading', { level: 1, name: 'Developers' }).waitFor()
    await page.getByRole('link', { name: 'API keys', exact: true }).first().click()
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByLabel('Label').pressSequentially('g d ?')
    assert.equal(await page.getByLabel('Label').inputValue(), 'g d ?')
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test(
    'the chosen theme is there before the first paint, and in another browser of the person',
    furtherWalk(),
    async () => {
      const mia = await member(world, await world.tenant(), 'admin')
      const page = await signIn(mia, '/console/you')
      await page.getByRole('heading', { name: 'Your profile' }).waitFor()
      await isWellMade(page, 'profile')
      await page.getByRole('radio', { name: 'Dark' }).check()
      const theme = () => page.evaluate<string>('document.documentElement.dataset.theme')
      assert.equal(await theme(), 'dark')
      await until(async () => (await mia.call('GET', '/console/session')).body.person.preferences.theme === 'dark')
      await page.reload({ waitUntil: 'commit' })
      await until(async () => (await theme()) === 'dark')
      const other = await signIn(mia, '/console/you')
      await until(() => other.evaluate<boolean>("document.documentElement.dataset.theme === 'dark'"))
    },
  )

  test('other browsers of a person are listed, and signed out', furtherWalk(), async () => {
    const mia = await member(world, await world.tenant(), 'admin')
    const page = await signIn(mia, '/console/you/sessions')
    await page.getByRole('table').waitFor()
    await isWellMade(page, 'sessions')
    const menu = page.getByRole('button', { name: 'Mia admin: your menu' })
    await menu.click()
    await isAccessible(page, 'menu of the person')
    // A request that is refused before the page has the answer of the sign-out opens no dialog.
    allow(/401/)
    const dialogs: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/dialogs-')) dialogs.push(request.url())
    })
    await page.route('**/console/session', async (route) => {
      const response = await route.fetch()
      const refused = page.waitForResponse((one) => one.status() === 401)
      await page.keyboard.press('Escape')
      await page.getByRole('link', { name: 'Notifications' }).click()
      await refused
      await page.evaluate('new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))')
      await route.fulfill({ response })
    })
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual(dialogs, [])
    assert.equal((await mia.call('GET', '/console/session')).status, 401)
  })

  test('the navigation of a telephone marks the section of the page, also behind More', furtherWalk(), async () => {
    const page = await signIn(await member(world, await world.tenant(), 'owner'), '/people')
    await page.setViewportSize({ width: widths.phone, height: 640 })
    const current = page.getByRole('navigation', { name: 'Main' }).locator('[aria-current]:visible')
    await current.getByText('More').waitFor()
    await page.getByRole('button', { name: 'More' }).click()
    await isAccessible(page, 'a page behind More')
    const colors = await page.evaluate<string[]>(
      "[...document.querySelectorAll('nav [popover] a')].map((link) => getComputedStyle(link).color)",
    )
    assert.equal(new Set(colors).size, 2, 'the link to the page looks different')
    await page.keyboard.press('Tab')
    await page.locator('nav [popover] a:focus').waitFor()
    await page.keyboard.press('Escape')
    await page.locator(':focus', { hasText: 'More' }).waitFor()
    await page.getByRole('link', { name: 'Inbox' }).click()
    await current.getByText('Inbox').waitFor()
    assert.equal(await current.count(), 1)
  })

  test(
    'an operator without an account begins at the profile, and enters any account visibly',
    furtherWalk(),
    async () => {
      const page = await signIn('operator', '/console')
      await page.getByRole('heading', { name: 'Your profile' }).waitFor()
      const tenant = await world.tenant()
      await page.goto(`${url}/console/${tenant.uuid}/developers/keys`)
      await page.getByRole('table').waitFor()
      await page.getByText('You act as the operator in the account').waitFor()
      await isAccessible(page, 'operator in an account')

      const [former, next] = [await world.tenant(), await world.tenant()]
      await member(world, former, 'agent')
      await page.goto(`${url}/console/${former.uuid}/inbox/all?filter=1`)
      const colleagues = page.getByLabel('Assigned to').getByRole('option', { name: 'Mia agent' })
      await colleagues.waitFor({ state: 'attached' })
      // The colleagues of the next account never arrive.
      await page.route(/\/open\/team/, () => {})
      await page.evaluate(`
      history.pushState(null, '', '/console/${next.uuid}/inbox/all?filter=1')
      dispatchEvent(new PopStateEvent('popstate'))`)
      await page.waitForRequest(/\/open\/team/)
      await colleagues.waitFor({ state: 'detached' })
    },
  )

  test('an address that does not exist, and an account of others, say so', furtherWalk(), async () => {
    const tenant = await world.tenant()
    const page = await signIn(tenant, '/no/such/page')
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor()
    await isAccessible(page, 'missing page')
    const other = await world.tenant()
    await page.goto(`${url}/console/${other.uuid}/developers/keys`)
    await page.getByRole('heading', { name: 'You do not belong to this account' }).waitFor()
  })
})

/** Answers the dialog of a fresh proof. */
const prove = async (page: Awaited<ReturnType<typeof open>>): Promise<void> => {
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await dialog.getByLabel('Password', { exact: true }).fill(goodPassword)
  await isAccessible(page, 'proof')
  await dialog.getByRole('button', { name: 'Confirm' }).click()
}
