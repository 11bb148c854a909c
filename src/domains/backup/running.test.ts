import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSoftphone } from '../../../test/media/softphone.ts'
import { makeTelephone } from '../../../test/media/telephone.ts'
import { buyNumber, type Platform, startPlatform, until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { answer, closedAfter, dial, fromBrowser, receivesTone } from '../../adapters/sip-gateway/testing.ts'
import { openSession } from '../../platform/db/database-session.ts'
import { runningUrl } from '../../platform/db/embedded.ts'
import { makeSeal } from '../../platform/lib/secret.ts'
import { openVoicePlatform, startVoicePlatform, usersOf } from '../calls/call-testing.ts'
import { runCli } from './testing.ts'

// A backup of a whole platform under traffic, made and restored by the command line, on the embedded database.

const settings = { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0', TRUNKLINE_ENCRYPT_FILES: 'true' }

const digestOf = async (platform: Platform, link: string): Promise<string> => {
  const { pathname, search } = new URL(link)
  const answer = await fetch(platform.url + pathname + search)
  assert.equal(answer.status, 200)
  return createHash('sha256')
    .update(Buffer.from(await answer.arrayBuffer()))
    .digest('hex')
}

const recordedCall = async (t: Parameters<typeof openVoicePlatform>[0], platform: Platform): Promise<string> => {
  const [ada = ''] = await usersOf(platform)
  const { carrier, browser } = await openVoicePlatform(t, platform)
  const phone = await browser(ada)
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
  const callRequest = { ...fromBrowser(phone, '+447700900555'), headers: [['X-Record', 'true']] as const }
  const { dialled } = await dial(phone, callRequest, softphone)
  await answer(await carrier.call(), telephone)
  softphone.sendTone(1_000)
  await receivesTone(telephone, 1_000)
  await (await until(async () => dialled.session)).bye()
  return await until(async () => {
    const [newest] = (await platform.call('GET', '/open/voip/call-history')).body.cdrs
    return !newest.active && newest.recording_url
  })
}

test('a backup made under traffic restores balances, messages, files, recordings and secrets in a fresh home', async (t) => {
  const platform = await startVoicePlatform(settings)
  t.after(() => platform.end('SIGKILL'))
  const { call } = platform
  const { number } = await buyNumber(platform)
  const picture = Buffer.from('not really a picture, and fetched all the same')
  const server = createServer((_request, response) => response.setHeader('content-type', 'image/png').end(picture))
  server.listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const [channel] = (await call('GET', '/open/msgapp/get-numbers')).body.numbers
  await until(
    async () => (await call('GET', `/open/msgapp/channel/${channel.uuid}/status`)).body.connection_status === 'C',
  )
  const handset = '+447400130008'
  const { port } = server.address() as AddressInfo // it listens on TCP
  const url = `http://127.0.0.1:${port}/dot.png`
  assert.equal(
    (await call('POST', `/sandbox/handsets/${handset}/msgapp`, { to: channel.phone_number, url })).status,
    202,
  )
  const thread = async ({ call }: Platform) =>
    (await call('GET', `/open/msgapp/messages/${channel.phone_number}/${handset}`)).body.messages
  const media = async (of: Platform): Promise<string> =>
    until(async () =>
      (await thread(of)).map((one: { message: { media?: { url?: string } } }) => one.message.media?.url).find(Boolean),
    )
  const recording = await recordedCall(t, platform)
  const digests = [await digestOf(platform, await media(platform)), await digestOf(platform, recording)]
  assert.equal(digests[0], createHash('sha256').update(picture).digest('hex'))
  const secret = { smpp: { host: '127.0.0.1', port: 2775, system_id: 'me', password: 'sealed away' } }
  const created = await call('POST', '/operator/connections', {
    kind: 'smpp',
    name: 'acme',
    settings: secret.smpp,
    enabled: false,
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const hook = await call('POST', '/open/webhooks/subscribe/number.purchased', { hook_url: 'https://example.com/hook' })
  assert.equal(hook.status, 201, JSON.stringify(hook.body))
  const signingSecret: string = hook.body.data.signing_secret
  const openedSecret = async (home: string): Promise<string> => {
    const session = await openSession((await runningUrl(home)) ?? '')
    const row = await session.one<{ sealed_secret: Buffer }>`select sealed_secret from webhooks`
    await session.end()
    return makeSeal(readFileSync(join(home, 'keys', 'master'))).open(row.sealed_secret)
  }
  assert.equal(await openedSecret(platform.home), signingSecret)

  let sent = 0
  let isSending = true
  const sending = (async () => {
    while (isSending) {
      const sms = { from_number: number, to_number: '+447700900123', text: `message ${sent}` }
      assert.equal((await call('POST', '/open/sms/send', sms)).status, 202)
      sent += 1
    }
  })()
  await until(async () => sent > 5)
  const folder = temporaryFolder()
  const file = join(folder, 'installation.backup')
  const before = sent
  const backup = await runCli(platform.home, ['backup', file, '--json']).ended
  assert.equal(backup.status, 0, backup.err)
  assert.ok(sent > before, 'the platform went on meanwhile')
  isSending = false
  await sending
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder), ['installation.backup'])
  const { rows, files, money } = JSON.parse(backup.out)
  assert.ok(rows.sms_messages >= before && rows.sms_messages <= sent)
  assert.ok(files >= 2)
  await platform.end()

  const verified = await runCli(platform.home, ['backup', 'verify', file]).ended
  assert.equal(verified.status, 0, verified.out + verified.err)
  assert.match(
    verified.out,
    /ok {5}money: .* transfers of USD .*\nok {5}master key.*\nok {5}sealed secrets: \d+ values\nok {5}files: \d+ files/,
  )

  const home = join(temporaryFolder(), 'home')
  mkdirSync(home)
  const restored = await runCli(home, ['restore', file]).ended
  assert.equal(restored.status, 0, restored.err)
  const next = await startPlatform(home, settings)
  t.after(() => next.end())
  const balance = Number((await next.call('GET', '/open/info')).body.balance.amount)
  assert.ok(Math.abs(balance - Number(money.balances)) < 0.0001, `${balance} beside ${money.balances}`)
  assert.equal((await next.call('GET', '/open/sms/messages?page=1')).body.total, rows.sms_messages)
  assert.equal(await openedSecret(home), signingSecret)
  assert.equal(await digestOf(next, await media(next)), digests[0])
  const { recording_url: again } = (await next.call('GET', '/open/voip/call-history')).body.cdrs[0]
  assert.equal(await digestOf(next, again), digests[1])
})

test('a platform does not start into an interrupted restore', async () => {
  const home = temporaryFolder()
  mkdirSync(join(home, 'restoring'))
  writeFileSync(join(home, 'restoring', 'part'), '')
  await assert.rejects(
    startPlatform(home),
    /A restore into .* was interrupted: run it again \(npx trunkline restore FILE\)/,
  )
  assert.equal(readFileSync(join(home, 'restoring', 'part'), 'utf8'), '')
})
