import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codeAt, stepAt } from '../../src/domains/persons/second-factor/totp.ts'
import { bytesOf } from '../authenticator-app.ts'
import { furtherWalk, needs } from '../needs.ts'
import { goodPassword, member } from '../persons.ts'
import { isWellMade, openConsole } from './fixture.ts'

// The second factor and the passkeys of a person, in a real browser with a virtual authenticator.

const { world, url, signIn, open, allow } = await openConsole({}, {}, 'localhost')

describe('the security of a person', needs('chromium'), () => {
  test('a person sets up a second factor, signs in with it and with a recovery code, and removes it', async () => {
    const person = await member(world, await world.tenant(), 'owner', 'tess@example.com')
    const page = await signIn(person, '/console/you/security')
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
    await page.getByRole('img', { name: 'Code for the authenticator app' }).waitFor()
    await isWellMade(page, 'set-up')
    const dialog = page.getByRole('dialog')
    const secret = bytesOf(
      (await dialog
        .getByText(/^[A-Z2-7]{32}$/)
        .first()
        .textContent()) ?? '',
    )
    // The start page shows a handset of the sandbox, whose carriers do not run here.
    allow(/40[13]/, /\/sandbox\/handsets\//)
    await page.getByRole('textbox', { name: 'Code of the app' }).fill('000')
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').waitFor()
    const now = stepAt(Date.now())
    await page.getByRole('textbox', { name: 'Code of the app' }).fill(codeAt(secret, now - 1))
    await page.keyboard.press('Enter')
    const items = dialog.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem')
    await items.first().waitFor()
    const codes = await items.allTextContents()
    assert.equal(codes.length, 10)
    await isWellMade(page, 'recovery codes')
    await page.getByRole('button', { name: 'I have stored them' }).click()
    await page.getByText('10 of 10 recovery codes left').waitFor()
    await isWellMade(page, 'second factor')

    const enter = async (code: string) => {
      const other = await open('/console/sign-in')
      await other.getByLabel('Email').fill('tess@example.com')
      await other.getByLabel('Password', { exact: true }).fill(goodPassword)
      await other.keyboard.press('Enter')
      const field = other.getByRole('textbox', { name: 'Code of your second factor' })
      await field.waitFor()
      assert.equal(await other.getByLabel('Email').inputValue(), 'tess@example.com')
      assert.equal(await other.getByRole('alert').count(), 0)
      assert.equal(await other.evaluate<string>('document.activeElement?.name'), 'code')
      const submit = async (text = code) => {
        await field.fill(text)
        await other.keyboard.press('Enter')
      }
      return { other, submit }
    }
    const first = await enter('12345')
    await isWellMade(first.other, 'sign-in with a code')
    await first.submit()
    await first.other.getByRole('alert').getByText('The code is wrong').first().waitFor()
    await first.submit(codeAt(secret, now))
    await first.other.waitForURL(/\/console\/ACC/)
    const second = await enter(codes[0] ?? '')
    await second.submit()
    await second.other.waitForURL(/\/console\/ACC/)

    await page.reload()
    await page.getByText('9 of 10 recovery codes left').waitFor()
    await page.getByRole('button', { name: 'Remove the second factor' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the second factor' }).click()
    await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor()
  })

  test(
    'an owner requires a second factor, and a member without one is led to the page that sets it up',
    furtherWalk(),
    async () => {
      const tenant = await world.tenant()
      const owner = await member(world, tenant, 'owner')
      const agent = await member(world, tenant, 'agent')
      const settings = await signIn(owner, `/console/${tenant.uuid}/settings`)
      const option = settings.getByRole('checkbox', { name: 'Require a second factor' })
      await option.check()
      allow(/403/)
      await settings.getByRole('form', { name: 'Details' }).getByRole('button', { name: 'Save' }).click()
      await settings.getByText('The account requires a second factor').first().waitFor()
      await world.db.begin(async (tx) => {
        await tx.run`
        insert into person_totp (person_id, sealed_secret, activated_at)
        values (${owner.boot.person.uuid.slice(3)}, ${Buffer.from('sealed')}, now())`
        await world.parts.changes.invalidate(tx, 'sessions')
      })
      await settings.getByRole('form', { name: 'Details' }).getByRole('button', { name: 'Save' }).click()
      await settings.getByText('Account saved').first().waitFor()
      await settings.reload()
      await option.waitFor()
      assert.equal(await option.isChecked(), true)

      const page = await signIn(agent, `/console/${tenant.uuid}/inbox`)
      const refused: string[] = []
      page.on('response', (response) => {
        if (response.status() === 403) refused.push(response.url())
      })
      await page.getByText(/requires a second factor/).waitFor()
      assert.equal(new URL(page.url()).pathname, '/console/you/security')
      await isWellMade(page, 'second factor required')
      await page.goto(`${url}/console/${tenant.uuid}/people`)
      await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
      const secret =
        (await page
          .getByText(/^[A-Z2-7]{32}$/)
          .first()
          .textContent()) ?? ''
      await page.getByRole('textbox', { name: 'Code of the app' }).fill(codeAt(bytesOf(secret), stepAt(Date.now())))
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'I have stored them' }).click()
      await page.getByText(/requires a second factor/).waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Inbox' }).first().click()
      await page.waitForURL(/\/inbox/)
      assert.deepEqual(refused, [])
    },
  )

  test('a person adds a passkey, signs in with it, and removes it', furtherWalk(), async () => {
    const person = await member(world, await world.tenant(), 'owner', 'pat@example.com')
    const page = await signIn(person, '/console/you/security')
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await page.getByText('You have no passkeys yet.').waitFor()
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    const list = page.getByRole('list', { name: 'Passkeys' })
    await list.getByRole('listitem').waitFor()
    await isWellMade(page, 'passkeys')

    await page.context().clearCookies()
    await page.goto(`${url}/console/sign-in`)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(/\/console\/ACC/)

    await page.goto(`${url}/console/you/security`)
    await list.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the passkey' }).click()
    await page.getByText('You have no passkeys yet.').waitFor()
    await page.context().clearCookies()
    await page.goto(`${url}/console/sign-in`)
    allow(/401/)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('This passkey is not known here.').waitFor()
  })
})
