import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { rightsOf } from '../../console/shell/rights.ts'
import { namesOf, roleCapabilities, roles } from '../../src/platform/http/role.ts'
import { isAccessible } from '../accessible.ts'
import { furtherWalk, needs } from '../needs.ts'
import { type Browser, freshClaim, goodPassword, member, tokenOf } from '../persons.ts'
import { until } from '../platform.ts'
import type { Tenant } from '../world.ts'
import { isWellMade, openConsole } from './fixture.ts'

// Walks of the people of an account: the first person, sign-in, invitation, roles, audit.

const { world, url, open, signIn, allow } = await openConsole()

/** A new account with its first owner. */
const owned = async (): Promise<{ tenant: Tenant; owner: Browser & { email: string; user: string } }> => {
  const tenant = await world.tenant()
  return { tenant, owner: await member(world, tenant, 'owner') }
}

/** Chooses an act from the menu of a row. */
const choose = async (page: Page, row: string, act: string): Promise<void> => {
  await page.getByRole('button', { name: `Actions for ${row}` }).click()
  await page.getByRole('menuitem', { name: act, exact: true }).click()
}

const confirm = (page: Page, act: string) =>
  page.getByRole('dialog').getByRole('button', { name: act, exact: true }).click()

/** The name of the element with the focus; empty if nothing has it. */
const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(`(() => {
    const { activeElement: element } = document
    const label = element.labels?.[0] ?? element
    return element === document.body ? '' : (element.getAttribute('aria-label') ?? label.textContent).trim()
  })()`)

/** Moves the focus by the Tab key to an element with this name, and asserts that it is seen at each step. */
const tabTo = async (page: Page, name: string): Promise<void> => {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press('Tab')
    const isSeen = await page.evaluate<boolean>(`(() => {
      const { activeElement: element } = document
      if (element === document.body || !element.matches(':focus-visible')) return element === document.body
      const { top, bottom } = element.getBoundingClientRect()
      return bottom > 0 && top < innerHeight
    })()`)
    assert.ok(isSeen, `the focus is not seen on ${await focused(page)}`)
    if ((await focused(page)).startsWith(name)) return
  }
  assert.fail(`the Tab key does not reach ${name}`)
}

test('the roles of the console have exactly the rights that the server gives them', () => {
  for (const role of roles) assert.deepEqual(rightsOf(role).sort(), namesOf(roleCapabilities[role]).sort(), role)
})

describe('walks of people', needs('chromium'), () => {
  test('claim: the printed link makes the first person, is refused afterwards, and can be printed again before', async () => {
    const first = await freshClaim(world)
    const { status, body } = await world.call('operator', 'POST', '/operator/console/claim-link')
    assert.equal(status, 201)
    const token = tokenOf(body.claim_url)
    assert.notEqual(token, first)
    const page = await open(`/console/claim#${token}`)
    await page.getByLabel('Your name').fill('Olive Operator')
    await page.getByLabel('Email').fill('olive@example.com')
    await page.getByLabel('Password', { exact: true }).fill(goodPassword)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Olive Operator: your menu' }).waitFor()
    const second = await open(`/console/claim#${token}`)
    await second.getByText('This installation is set up already').waitFor()
    assert.equal((await world.call('operator', 'POST', '/operator/console/claim-link')).status, 410)
  })

  test(
    'sign-in-and-out: by password and keys; a session that ended elsewhere returns to the same form',
    furtherWalk(),
    async () => {
      const { tenant, owner } = await owned()
      const page = await open(`/console/${tenant.uuid}/people?invite=1`)
      allow(/401/)
      await page.getByLabel('Email').fill(owner.email)
      await page.getByLabel('Password', { exact: true }).fill('not the password')
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('alert').first().waitFor()
      await page.getByLabel('Password', { exact: true }).fill(goodPassword)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      const form = page.getByRole('dialog', { name: 'Invite a person' })
      await form.getByLabel('First name').fill('Half')
      assert.equal((await owner.call('DELETE', '/console/sessions')).status, 200)
      const again = page.getByRole('dialog', { name: 'Sign in again' })
      await again.getByLabel('Password', { exact: true }).fill(goodPassword)
      await again.getByRole('button', { name: 'Sign in' }).click()
      await again.waitFor({ state: 'detached' })
      assert.equal(await form.getByLabel('First name').inputValue(), 'Half')
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Mia owner: your menu' }).click()
      await page.getByRole('button', { name: 'Sign out', exact: true }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      for (const [key, heading] of [
        [tenant.key, /.+/],
        [world.operatorKey, /.+/],
      ] as const) {
        await page.goto(`${url}/console/sign-in`)
        await page.getByRole('button', { name: 'Use a key instead' }).click()
        await page.getByRole('textbox', { name: 'API key or operator key' }).fill(key)
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: /your menu/ }).waitFor()
        await page.getByRole('heading', { level: 1, name: heading }).waitFor()
        await page.context().clearCookies()
      }
    },
  )

  test('invite-an-agent: a link, a second browser, a role; then suspended, and the last owner stays', async () => {
    const { tenant, owner } = await owned()
    const page = await signIn(owner, '/people')
    await page.getByRole('table', { name: 'Members of the account' }).waitFor()
    await isWellMade(page, 'people')
    await page.getByRole('button', { name: 'Invite a person' }).click()
    const form = page.getByRole('dialog', { name: 'Invite a person' })
    await form.getByLabel('First name').fill('Ada')
    await form.getByLabel('Last name').fill('Agent')
    await form.getByLabel('Email').fill(owner.email)
    await form.getByRole('radio', { name: /^Agent/ }).check()
    allow(/409/)
    await form.getByRole('button', { name: 'Create link' }).click()
    await form.getByText('Another member has this email address.').first().waitFor()
    await isAccessible(page, 'refused invitation')
    await form.getByLabel('Email').fill('ada.agent@example.com')
    await page.keyboard.press('Enter')
    const shown = page.getByRole('dialog', { name: 'Link for Ada Agent' })
    const link = (await shown.getByText(/\/console\/invitation#/).innerText()).trim()
    await isAccessible(page, 'invitation link')
    await shown.getByRole('button', { name: 'I have copied it' }).click()
    const row = page.getByRole('row', { name: /Ada Agent/ })
    await row.getByText('Invited').waitFor()

    const agent = await open(new URL(link).pathname + new URL(link).hash)
    await agent.getByLabel('Password', { exact: true }).fill(goodPassword)
    await agent.getByRole('button', { name: 'Accept and sign in' }).click()
    await agent.getByRole('button', { name: 'Ada Agent: your menu' }).waitFor()
    // The list of the owner follows by itself.
    await row.getByText('Active').waitFor()
    for (const name of ['Money', 'People', 'Developers'])
      assert.equal(await agent.getByRole('link', { name, exact: true }).count(), 0, name)
    await agent.goto(`${url}/console/${tenant.uuid}/people`)
    await agent.getByText('Ask a person with one of these roles: Administrator or Owner.').waitFor()
    allow(/403/)
    const answer = await agent.evaluate<number>(
      `fetch('/open/ledger', { headers: { 'x-account': '${tenant.uuid}' } }).then(({ status }) => status)`,
    )
    assert.equal(answer, 403)

    await choose(page, 'Ada Agent', 'Suspend')
    await isAccessible(page, 'suspend')
    await confirm(page, 'Suspend')
    await row.getByText('Suspended').waitFor()
    await agent.reload()
    await agent.getByRole('heading', { name: /^(?:No account|You do not belong to this account)$/ }).waitFor()
    await choose(page, 'Ada Agent', 'Reactivate')
    await confirm(page, 'Reactivate')
    await row.getByText('Active').waitFor()

    await choose(page, 'Mia owner', 'Change role')
    const role = page.getByRole('dialog', { name: 'Change the role of Mia owner' })
    await role.getByRole('radio', { name: /^Billing/ }).check()
    await role.getByRole('button', { name: 'Save' }).click()
    await role.getByText('This is the last active owner. Make another member an owner first.').waitFor()
    await isAccessible(page, 'last owner')
    await page.goBack()
    await role.waitFor({ state: 'detached' })
  })

  test(
    'by keyboard alone: a person is invited and suspended, a second factor is begun, and the focus is never lost',
    furtherWalk(),
    async () => {
      const { tenant, owner } = await owned()
      const mate = await member(world, tenant, 'agent')
      await mate.call('PATCH', '/console/me', { name: 'Kim Keys' })
      const page = await signIn(owner, '/people')
      const keys = page.keyboard
      await page.getByRole('row', { name: /Kim Keys/ }).waitFor()
      await tabTo(page, 'Invite a person')
      await keys.press('Enter')
      await until(async () => (await focused(page)).startsWith('First name'))
      await keys.type('Nora')
      await keys.press('Tab')
      await keys.type('Keyboard')
      await keys.press('Tab')
      await keys.type('nora.keyboard@example.com')
      await keys.press('Tab')
      // The roles are one group: arrows choose.
      await keys.press('ArrowDown')
      await tabTo(page, 'Create link')
      await keys.press('Enter')
      await page.getByRole('dialog', { name: 'Link for Nora Keyboard' }).waitFor()
      await tabTo(page, 'I have copied it')
      await keys.press('Enter')
      await page.getByRole('row', { name: /Nora Keyboard.*Developer/ }).waitFor()
      await tabTo(page, 'Actions for Kim Keys')
      await keys.press('Enter')
      await keys.press('s')
      await keys.press('Enter')
      await page.getByRole('dialog', { name: 'Suspend Kim Keys?' }).waitFor()
      await tabTo(page, 'Suspend')
      await keys.press('Enter')
      await page.getByRole('row', { name: /Kim Keys.*Suspended/ }).waitFor()
      assert.notEqual(await focused(page), '')

      await page.goto(`${url}/console/you/security`)
      await tabTo(page, 'Set up an authenticator app')
      await keys.press('Enter')
      await page.getByRole('img', { name: 'Code for the authenticator app' }).waitFor()
      await tabTo(page, 'Code of the app')
      await keys.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      assert.equal(await focused(page), 'Set up an authenticator app')
    },
  )

  test('working hours and the closing of conversations are set in words, and shown again', furtherWalk(), async () => {
    const { owner } = await owned()
    const page = await signIn(owner, '/settings')
    const inbox = page.getByRole('form', { name: 'Inbox' })
    await inbox.getByLabel(/^Close answered/).fill('14')
    await inbox.getByLabel(/^Monday/).fill('9:00-12:30, 13:00-24:00')
    await inbox.getByLabel(/^Sunday/).fill('late')
    await inbox.getByRole('button', { name: 'Save' }).click()
    await inbox.getByText('Write hours such as').waitFor()
    await inbox.getByLabel(/^Sunday/).fill('')
    await inbox.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('status').getByText('Account saved').waitFor()
    await page.reload()
    assert.equal(await inbox.getByLabel(/^Monday/).inputValue(), '09:00-12:30, 13:00-24:00')
  })

  test(
    'audit: the acts of a walk are found by actor, action, target and time, and exported',
    furtherWalk(),
    async () => {
      const { owner } = await owned()
      const page = await signIn(owner, '/settings')
      await page.getByLabel('Name', { exact: true }).fill('Example Ltd')
      await page.getByLabel(/^Warn below/).fill('7.50')
      await page.getByRole('form', { name: 'Details' }).getByRole('button', { name: 'Save' }).click()
      await page.getByRole('status').getByText('Account saved').waitFor()
      await isWellMade(page, 'account')
      await page.getByRole('link', { name: 'Audit log' }).click()
      const acts = page.getByRole('table', { name: 'Acts on the account' })
      await acts.getByRole('row', { name: /Changed the account/ }).waitFor()
      await isWellMade(page, 'audit log')
      await page.getByRole('combobox', { name: 'By', exact: true }).selectOption({ label: 'Mia owner' })
      await page.getByRole('combobox', { name: 'Action', exact: true }).selectOption({ label: 'Changed the account' })
      await until(async () => (await acts.getByRole('row').count()) === 2)
      await acts.getByRole('link', { name: 'Changed the account' }).click()
      const details = page.getByRole('dialog', { name: 'Changed the account' })
      await details
        .getByRole('row', { name: /low_balance/ })
        .getByText('5')
        .first()
        .waitFor()
      await isAccessible(page, 'an act')
      await details.getByRole('link', { name: 'Only acts on this target' }).first().click()
      await details.waitFor({ state: 'detached' })
      const target = new URL(page.url()).searchParams.get('target')
      assert.match(String(target), /^ACC/)
      await page.getByLabel('To', { exact: true }).fill('2020-01-01')
      await page.getByText('No act matches these filters').waitFor()
      await page.goBack()
      await page.reload()
      await acts.getByRole('row', { name: /Changed the account/ }).waitFor()
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export CSV' }).click(),
      ])
      const lines = (await readFile(await saved.path(), 'utf8')).trim().split('\n')
      assert.ok(lines.length >= 2 && lines.slice(1).every((line) => line.includes(String(target))), lines.join('\n'))
    },
  )

  test('roles: navigation, palette and interface agree for each role', async () => {
    const tenant = await world.tenant()
    const pages = [
      { title: 'API keys', path: '/developers/keys', route: '/open/keys' },
      { title: 'Messaging app', path: '/channels', route: '/open/msgapp/get-numbers' },
      { title: 'Members', path: '/people', route: '/open/members' },
      { title: 'Account', path: '/settings', route: null },
      { title: 'Audit log', path: '/settings/audit', route: '/open/audit' },
    ]
    for (const role of roles) {
      const person = await member(world, tenant, role)
      const page = await signIn(person, '/no-page')
      await page.getByRole('heading', { name: 'This page does not exist' }).waitFor()
      await page.getByRole('navigation', { name: 'Main' }).first().waitFor()
      const addresses = await page.evaluate<string[]>(
        "[...document.querySelectorAll('nav a')].map((link) => link.pathname)",
      )
      await page.keyboard.press('Control+k')
      const field = page.getByRole('combobox', { name: 'Page, person, number or ID' })
      for (const { title, path, route } of pages) {
        const status =
          route === null
            ? (await person.call('PATCH', '/open/account', { name: tenant.uuid })).status
            : (await person.call('GET', route)).status
        const isAllowed = status === 200
        assert.ok(isAllowed || status === 403, `${role} ${path}: ${status}`)
        await field.fill(title)
        const options = await page.getByRole('option', { name: title }).count()
        assert.equal(options > 0, isAllowed, `${role}: ${title} in the palette`)
        // A section leads to its first page that the role may open.
        const base = `/console/${tenant.uuid}`
        const isLinked = addresses.some((address) => address.startsWith(`${base}/${path.split('/')[1]}`))
        if (isAllowed) assert.ok(isLinked, `${role}: ${path} in the navigation`)
        else assert.ok(!addresses.includes(base + path), `${role}: ${path} in the navigation`)
      }
      await page.context().close()
    }
  })
})
