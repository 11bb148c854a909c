import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { buyNumber, homeOnDisk, startPlatform, until } from '../../../../test/platform.ts'
import { answer, closedAfter, dial, fromBrowser, receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import { openVoicePlatform, startVoicePlatform, usersOf } from '../call-testing.ts'

test('the recording of a real call is encrypted at its end, and after a kill by the next process', async (t) => {
  const settings = { TRUNKLINE_ENCRYPT_FILES: 'true', TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' }
  const platform = await startVoicePlatform(settings, homeOnDisk())
  t.after(() => platform.end('SIGKILL'))
  const [ada = ''] = await usersOf(platform)
  await buyNumber(platform)
  const { carrier, browser } = await openVoicePlatform(t, platform)
  const folder = join(platform.home, 'recordings')
  const files = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && one.name !== 'id')
      .map((one) => join(one.parentPath, one.name))
  const phone = await browser(ada)
  const talk = async () => {
    const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
    const callRequest = { ...fromBrowser(phone, '+447700900555'), headers: [['X-Record', 'true']] as const }
    const { dialled } = await dial(phone, callRequest, softphone)
    await answer(await carrier.call(), telephone)
    softphone.sendTone(1_000)
    await receivesTone(telephone, 1_000)
    await until(async () => files().some((file) => file.endsWith('.wav') && statSync(file).size > 40_000))
    return dialled
  }
  const cdr = async ({ call }: Pick<typeof platform, 'call'>) =>
    (await call('GET', '/open/voip/call-history')).body.cdrs[0]
  const isWhole = async (base: string, url: string) => {
    const { pathname, search } = new URL(url)
    const heard = Buffer.from(await (await fetch(base + pathname + search)).arrayBuffer())
    assert.equal(heard.toString('latin1', 0, 4), 'RIFF')
    assert.equal(heard.readUInt32LE(40), heard.length - 44)
    assert.ok(heard.length > 40_000)
  }
  const isSealed = () => {
    const found = files()
    assert.ok(found.length > 0)
    for (const file of found) assert.match(readFileSync(file).toString('latin1', 0, 8), /^TRNKFILE$/, file)
  }

  const dialled = await talk()
  await (await until(async () => dialled.session)).bye()
  const { recording_url: first } = await until(async () => {
    const newest = await cdr(platform)
    return !newest.active && newest
  })
  isSealed()
  await isWhole(platform.url, first)

  await talk()
  await platform.end('SIGKILL')
  const next = await startPlatform(platform.home, settings)
  t.after(() => next.end())
  const second = await until(async () => (await cdr(next)).recording_url, 30)
  assert.equal(files().length, 2)
  isSealed()
  await isWhole(next.url, second)
  await isWhole(next.url, first)
})
