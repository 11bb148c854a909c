import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { mailJobs } from '../../src/domains/mail/jobs.ts'
import { personJobs } from '../../src/domains/persons/mailed-links/jobs.ts'
import { errorLog, startTestWorker } from '../../src/platform/jobs/job-testing.ts'
import { furtherWalk, needs } from '../needs.ts'
import { acceptLink, goodPassword, member } from '../persons.ts'
import { needsPostfix, startPostfix } from '../postfix.ts'
import { isWellMade, openConsole } from './fixture.ts'

// Links of mails, from Debian's Postfix to Chromium.

const needed = needs('chromium')
const { skip } = needed.skip ? needed : needsPostfix()
const server = skip ? null : await startPostfix({ after })
const { world, url, open, signIn, allow } = await openConsole({
  TRUNKLINE_SMTP_URL: `smtp://127.0.0.1:${server?.port ?? 9}`,
  TRUNKLINE_MAIL_FROM: 'Trunkline <no-reply@example.com>',
})
if (server) {
  const { db, parts } = world
  startTestWorker({ db, log: errorLog, kinds: [...mailJobs(parts), ...personJobs(parts)] })
}

/** Waits for a mail, and returns the path of its link. @param count of mails to the address so far */
const linkOf = async (email: string, count: number): Promise<string> => {
  const { text = '' } = (await server?.mailTo(email, count)) ?? {}
  const [link = ''] = /http\S+#\S+/.exec(text) ?? []
  assert.ok(link.startsWith(url), text)
  return link.slice(url.length)
}

describe('links of mails', { skip }, () => {
  test('an invited person proves the address by the mailed link, forgets the password, and gets back in by mail', async () => {
    const tenant = await world.tenant()
    const owner = await member(world, tenant, 'owner')
    const people = await signIn(owner, '/people?invite=1')
    const form = people.getByRole('dialog', { name: 'Invite a person' })
    await form.getByLabel('First name').fill('Ada')
    await form.getByLabel('Last name').fill('Agent')
    await form.getByLabel('Email').fill('ada@mail.test')
    await isWellMade(people, 'invitation with mail')
    await form.getByRole('button', { name: 'Send the invitation' }).click()
    await people.getByText('Mailed to ada@mail.test').first().waitFor()

    const page = await open(await linkOf('ada@mail.test', 1))
    await page.getByLabel('Password', { exact: true }).fill(goodPassword)
    await page.getByRole('button', { name: 'Accept and sign in' }).click()
    await page.getByRole('button', { name: 'Ada Agent: your menu' }).waitFor()
    await page.goto(`${url}/console/you/security`)
    await page.getByText('Confirmed', { exact: true }).waitFor()
    await isWellMade(page, 'proved address')
    // What the page asks for meanwhile is refused.
    allow(/401/)
    await page.context().clearCookies()

    await page.goto(`${url}/console/sign-in`)
    await page.getByRole('link', { name: 'Forgotten password?' }).click()
    await page.getByRole('heading', { name: 'Forgotten password' }).waitFor()
    await isWellMade(page, 'forgotten password')
    await page.getByLabel('Email').fill('Ada@mail.test')
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByRole('heading', { name: 'Look into your mailbox' }).waitFor()
    await isWellMade(page, 'mailed link')
    const reset = await open(await linkOf('ada@mail.test', 2))
    await reset.getByLabel('Password', { exact: true }).fill('nine yellow kites fly')
    await isWellMade(reset, 'new password')
    await reset.getByRole('button', { name: 'Set the password and sign in' }).click()
    await reset.getByRole('button', { name: 'Ada Agent: your menu' }).waitFor()
    const notice = await server?.mailTo('ada@mail.test', 3)
    assert.match(notice?.text ?? '', /Your password was set by a link/)
  })

  test(
    'a person of two accounts chooses one at sign-in, and proves the address with a session',
    furtherWalk(),
    async () => {
      const email = 'twin@mail.test'
      const [one, other] = [await world.tenant(), await world.tenant()]
      const first = await member(world, one, 'agent', email)
      const body = { first_name: 'T', last_name: 'Win', email, role: 'agent', delivery: 'link' }
      const invited = await world.call(other, 'POST', '/open/members', body)
      const password = 'nine yellow kites fly'
      const second = await acceptLink(world, invited.body.invite_url, { password })
      assert.equal(second.status, 201, JSON.stringify(second.body))
      const change = { current: goodPassword, password }
      assert.equal((await first.call('POST', '/console/me/password', change)).status, 200)

      const page = await open('/console/sign-in')
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password', { exact: true }).fill(password)
      allow(/409/, /401/, /404/)
      await page.keyboard.press('Enter')
      const choice = page.getByRole('group', { name: 'Account' })
      await choice.waitFor()
      await isWellMade(page, 'choice of account')
      const { name } = (await world.call(other, 'GET', '/open/info')).body.account ?? {}
      const options = choice.getByRole('radio')
      assert.equal(await options.count(), 2)
      await (name ? choice.getByRole('radio', { name }) : options.last()).check()
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('button', { name: /your menu/ }).waitFor()

      await page.goto(`${url}/console/you/security`)
      await page.getByText('Not confirmed').waitFor()
      await page.getByRole('button', { name: 'Send a mail to confirm it' }).click()
      await page.getByText(`A mail to ${email} is on its way`).waitFor()
      await isWellMade(page, 'mail on its way')
      const link = await linkOf(email, 1)
      // A stranger who reads the mailbox, or its owner whose address another person entered, proves nothing.
      const elsewhere = await open(link)
      await elsewhere.getByText('Sign in as the person who asked for this link.').waitFor()
      await isWellMade(elsewhere, 'proof without session')
      await page.goto(url + link)
      await page.getByRole('heading', { name: 'Confirm your email address' }).waitFor()
      await isWellMade(page, 'proof')
      await page.getByRole('button', { name: 'Confirm' }).click()
      await page.getByRole('heading', { name: 'Your email address is confirmed' }).waitFor()
    },
  )

  test(
    'a person who has proved the address is led to the own password by a further mailed link',
    furtherWalk(),
    async () => {
      const email = 'known@mail.test'
      const invite = async (tenant: Awaited<ReturnType<typeof world.tenant>>, count: number) => {
        const body = { first_name: 'K', last_name: 'Nown', email, role: 'agent' }
        assert.equal((await world.call(tenant, 'POST', '/open/members', body)).body.mailed_to, email)
        return await linkOf(email, count)
      }
      const joined = await acceptLink(world, await invite(await world.tenant(), 1), { password: goodPassword })
      assert.equal(joined.body.person.email_proved, true)
      const page = await open(await invite(await world.tenant(), 2))
      await page.getByLabel('Password', { exact: true }).fill('nine yellow kites fly')
      allow(/401/)
      await page.getByRole('button', { name: 'Accept and sign in' }).click()
      await page.getByText('You have a password here already. Enter it, or reset it.').first().waitFor()
      assert.equal(await page.getByRole('checkbox', { name: 'I already have a password here' }).isChecked(), true)
      await isWellMade(page, 'known person')
      await page.getByLabel('Password', { exact: true }).fill(goodPassword)
      await page.getByRole('button', { name: 'Accept and sign in' }).click()
      await page.getByRole('button', { name: /your menu/ }).waitFor()
    },
  )
})
