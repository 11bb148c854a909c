import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startVoicePlatform } from '../../src/domains/calls/call-testing.ts'
import { toneWav } from '../../src/domains/calls/sounds/sound-testing.ts'
import { furtherWalk } from '../needs.ts'
import { buyNumber, until } from '../platform.ts'
import { isWellMade, joinPlatform, mediaFlags, openPlatform, soundMeter } from './fixture.ts'

// Applications in the console, with a program that is a real HTTP server, and calls of the sandbox's handsets.

const platform = await startVoicePlatform()
after(() => platform.end('SIGKILL'))
const { signIn, allow } = openPlatform(platform, { flags: mediaFlags })
const { call, url } = platform
const { number } = await buyNumber(platform)
const [own] = (await call('GET', '/open/voip/virtual-numbers')).body.numbers
const olive = await joinPlatform(platform, 'Olive Oatley', 'owner')

const server = createServer((_, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify([{ verb: 'play', tone: { hertz: [700], on_ms: 3_000 } }, { verb: 'hangup' }]))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo // it listens on TCP
after(() => void server.close())
const address = `http://127.0.0.1:${port}/menu`

const visit = (page: Page, path: string) => page.goto(`${url}/console/${olive.account}${path}`)

/** Asserts that the page of a call tells what its program was asked, answered and did. */
const tellsStory = async (page: Page): Promise<void> => {
  const story = page.getByRole('list', { name: 'What happened, step by step' })
  const request = story.getByRole('listitem').filter({ hasText: 'Program requested' })
  await request.getByText(address, { exact: true }).waitFor()
  await request.getByText('answer 200').waitFor()
  await story.getByText('Program: play').waitFor()
}

test('applications: made, run by a number, heard in the browser, and told by the page of the call', {
  ...furtherWalk(),
}, async () => {
  const page = await signIn(olive, '/calls/applications')
  await page.getByText('No applications yet').waitFor()
  await isWellMade(page, 'no applications')
  await page.getByRole('button', { name: 'Create application' }).first().click()
  const form = page.getByRole('form', { name: 'Create application' })
  await isWellMade(page, 'the form of an application')
  await form.getByLabel('Name').fill('Menu')
  await form.getByLabel('Address', { exact: true }).fill(address)
  await page.keyboard.press('Enter')
  await page
    .getByRole('dialog', { name: 'Application created' })
    .getByText(/^whsec_/)
    .waitFor()
  await isWellMade(page, 'a new signing secret')
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('heading', { name: 'Menu', level: 1 }).waitFor()
  await page.getByText('No number runs it.').waitFor()
  assert.equal(await page.getByText(/whsec_/).count(), 0, 'the secret is shown once')
  const [application] = (await call('GET', '/open/voip/applications')).body.applications
  assert.deepEqual([application.name, application.url, application.status_events], ['Menu', address, ['completed']])
  const ofApplication = page.url()

  await visit(page, `/numbers/${own.uuid}`)
  const goes = page.getByRole('combobox', { name: 'Calls go to' })
  await goes.selectOption({ label: 'An address of a program' })
  await page.getByLabel('Address', { exact: true }).fill(address)
  await page.getByLabel(/^Fallback address/).fill(`${address}?again`)
  await isWellMade(page, 'a number that runs an address')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(`Runs 127.0.0.1:${port}`).waitFor()
  const voiceOf = async () => (await call('GET', `/open/voip/virtual-numbers/${own.uuid}`)).body.number.voice
  assert.deepEqual(
    [(await voiceOf()).url, (await voiceOf()).fallback_url],
    [address, `${address}?again`],
    'an address with its fallback',
  )
  await goes.selectOption({ label: 'Menu' })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Runs Menu').waitFor()
  assert.deepEqual(await voiceOf(), { kind: 'application', application_uuid: application.uuid })

  const handset = '/sandbox/handsets/+447700900123/calls'
  assert.equal((await call('POST', handset, { to: number })).status, 202)
  const told = await until(async () => {
    const [cdr] = (await call('GET', '/open/voip/call-history')).body.cdrs
    if (!cdr || cdr.active) return null
    // The page looks again once, after two seconds. A busy machine may persist the steps later.
    const { timeline } = (await call('GET', `/open/voip/call/${cdr.uuid}/timeline`)).body
    return timeline.some(({ what }: { what: string }) => what === 'program_verb') && cdr
  })
  await visit(page, `/calls/${told.uuid}`)
  await tellsStory(page)
  await isWellMade(page, 'the story of a program')

  await page.addInitScript(soundMeter('totalAudioEnergy'))
  await page.goto(ofApplication)
  await page.getByRole('list', { name: 'Numbers that run it' }).getByRole('link').waitFor()
  await page.getByRole('button', { name: 'Call me' }).click()
  await page.getByText('Accept the call to hear the application.').waitFor()
  await isWellMade(page, 'an application that calls')
  await page.getByRole('region', { name: 'Telephone' }).getByRole('button', { name: 'Accept' }).click()
  await until(async () => (await page.evaluate<number>('heard()')) > 0)
  await page.getByRole('link', { name: 'Story of the call' }).click()
  await tellsStory(page)

  allow(/409/)
  await page.goto(`${ofApplication}?act=remove`)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete application' }).click()
  await page.getByRole('dialog').getByText(`Calls to ${number} run the application: change the number first`).waitFor()
  await isWellMade(page, 'an application that is in use')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'More acts' }).click()
  await page.getByRole('menuitem', { name: 'Rotate the secret' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate the secret' }).click()
  await page
    .getByRole('dialog', { name: 'New signing secret' })
    .getByText(/^whsec_/)
    .waitFor()
  await page.getByRole('button', { name: 'I have stored it' }).click()

  await visit(page, '/calls/applications')
  await page.getByText('No clips yet').waitFor()
  await page.getByRole('button', { name: 'Upload clip' }).click()
  const upload = page.getByRole('form', { name: 'Upload clip' })
  await upload.getByLabel('Name').fill('Welcome')
  await upload
    .getByLabel('File')
    .setInputFiles({ name: 'welcome.wav', mimeType: 'audio/wav', buffer: toneWav({ seconds: 1 }) })
  await isWellMade(page, 'the form of a clip')
  await upload.getByRole('button', { name: 'Upload clip' }).click()
  await page.getByText('0:01').waitFor()
  await isWellMade(page, 'a clip')
  await page.evaluate("document.querySelector('audio').play()")
  await until(() => page.evaluate<boolean>("document.querySelector('audio').ended"))
  await page.getByRole('button', { name: 'Actions for Welcome' }).click()
  await page.getByRole('menuitem', { name: 'Delete clip' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete clip' }).click()
  await page.getByText('No clips yet').waitFor()
})
