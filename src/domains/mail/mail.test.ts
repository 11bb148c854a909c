import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { needsPostfix, startPostfix } from '../../../test/postfix.ts'
import { makeWorld, type World } from '../../../test/world.ts'
import { makeSmtpTransport } from '../../adapters/smtp/smtp-transport.ts'
import { readConfig } from '../../config.ts'
import { makeMetrics } from '../../platform/http/metrics.ts'
import { startWorker } from '../../platform/jobs/consume/worker.ts'
import { smtpServer } from '../../platform/lib/smtp-settings.ts'
import { mailJobs } from './jobs.ts'
import { invitation, link, listed, makeMailWorld, queue, sender } from './mail-testing.ts'
import { makeMailer } from './mailer.ts'
import { renderMail } from './render.ts'

// Real mails: the job queue, SMTP, and Debian's Postfix, which delivers to a mailbox that the tests read.

const needed = needsPostfix()

const start = async () => {
  const server = await startPostfix({ after })
  const world = await makeMailWorld(server.port)
  const worker = startWorker({ db: world.db, log: world.parts.log, kinds: mailJobs(world.parts) })
  after(() => worker.stop(0))
  return { server, world }
}
const shared = needed.skip === false ? await start() : null

const ended = (world: World, to: string) =>
  until(async () => {
    const mail = await listed(world, to)
    return mail.state !== 'queued' && mail
  })

/** Waits for an attempt after which another one follows. */
const attempted = (world: World, to: string, attempts: number) =>
  until(
    () =>
      world.db.maybe<{ state: string; outcome: string }>`
      select m.state, m.outcome from jobs j join mails m on m.id = j.id
      where m.recipient = ${to} and m.attempts = ${attempts} and j.leased_until is null`,
  )

/** Makes the next attempts due. */
const retryNow = ({ db }: World) => db.run`
  update jobs set run_at = (select app_now()) where kind = 'mail.send' and leased_until is null`

test('a mail arrives with both parts, a subject without names, and no link but ours', needed, async () => {
  const { server, world } = shared ?? assert.fail()
  const forged = 'Bücher & <b>Söhne</b>\r\nBcc: eve@evil.example\u202e http://evil.example/x www.evil。example'
  const id = await queue(world, invitation('ada@example.com', null, { account: forged }))
  const mail = await server.mailTo('ada@example.com')
  assert.deepEqual(mail.from, { address: 'no-reply@example.com', name: 'Bücher Ltd' })
  assert.deepEqual(mail.to, [{ address: 'ada@example.com', name: '' }])
  assert.equal(mail.subject, 'Invitation to an account at 127.0.0.1:8080')
  assert.equal(mail.messageId, `<${id}@example.com>`)
  const header = (name: string) => mail.headers.filter(({ key }) => key === name).map(({ value }) => value)
  assert.deepEqual(header('auto-submitted'), ['auto-generated'])
  assert.match(header('content-type')[0] ?? '', /^multipart\/alternative/)
  assert.deepEqual(header('bcc'), [])
  for (const part of [mail.text ?? '', mail.html ?? '']) {
    assert.ok(part.includes('Bücher') && part.includes('Grace'), part)
    assert.doesNotMatch(part, /evil\.example|evil。example|\u202e|<b>/)
  }
  assert.ok(mail.text?.includes(`\n${link}\n`))
  assert.deepEqual(
    [...(mail.html ?? '').matchAll(/href="([^"]*)"/g)].map(([, href]) => href),
    [link.replace('&', '&amp;')],
  )
  assert.doesNotMatch(mail.html ?? '', /<(?:img|script|link|iframe)|url\(/)
  const shown = await ended(world, 'ada@example.com')
  assert.deepEqual([shown.uuid, shown.state, shown.attempts], [`EML${id}`, 'sent', 1])
  assert.match(shown.outcome, /^250 .*queued as/)
  assert.deepEqual(await world.db.many`select from mails where sealed_values is not null`, [])
})

test('addresses outside ASCII get their mail', needed, async () => {
  const { server, world } = shared ?? assert.fail()
  await queue(world, invitation('ärzte@bücher.example'))
  await server.mailTo('ärzte@bücher.example')
})

test('a server that is down gets the mail once it is up, under the same Message-ID', needed, async () => {
  const { server, world } = shared ?? assert.fail()
  await server.stop()
  const id = await queue(world, invitation('down@example.com'))
  const first = await attempted(world, 'down@example.com', 1)
  assert.equal(first.state, 'queued')
  assert.match(first.outcome, /^connection: .*ECONNREFUSED/)
  await retryNow(world)
  await attempted(world, 'down@example.com', 2)
  await server.start()
  await retryNow(world)
  assert.equal((await server.mailTo('down@example.com')).messageId, `<${id}@example.com>`)
  assert.equal((await ended(world, 'down@example.com')).attempts, 3)
})

test('a recipient refused for good fails at once, one refused for now is tried again', needed, async () => {
  const { server, world } = shared ?? assert.fail()
  let isKnown = false
  server.policy = ({ recipient }) => {
    if (recipient === 'nobody@example.com') return '550 5.1.1 No such user here'
    return recipient === 'later@example.com' && !isKnown ? '450 4.2.0 Greylisted, try again later' : 'DUNNO'
  }
  await queue(world, invitation('nobody@example.com'))
  await queue(world, invitation('later@example.com'))
  const failed = await ended(world, 'nobody@example.com')
  assert.deepEqual([failed.state, failed.attempts], ['failed', 1])
  assert.match(failed.outcome, /^recipient: .*550 5\.1\.1 .*No such user here/)
  const waiting = await attempted(world, 'later@example.com', 1)
  assert.equal(waiting.state, 'queued')
  assert.match(waiting.outcome, /^recipient: .*450 4\.2\.0 .*Greylisted/)
  const metrics = await world.parts.metrics.registry.metrics()
  assert.match(metrics, /trunkline_mails\{state="queued"\} 1\n/)
  assert.match(metrics, /trunkline_mails\{state="failed"\} 1\n/)
  assert.match(metrics, /trunkline_mail_messages_total\{template="invitation",outcome="failed"\} 1\n/)
  isKnown = true
  await retryNow(world)
  await server.mailTo('later@example.com')
  assert.equal((await ended(world, 'later@example.com')).attempts, 2)
  const { body } = await world.call('operator', 'GET', '/operator/mails?state=failed')
  assert.deepEqual(
    body.mails.map(({ to }: { to: string }) => to),
    ['nobody@example.com'],
  )
  assert.deepEqual(await world.db.many`select from jobs where kind = 'mail.send'`, [])
  assert.deepEqual(await world.db.many`select from dead_jobs`, [])
})

test('a mail whose session hangs does not hold up the next one', needed, async () => {
  const { server, world } = shared ?? assert.fail()
  const held = Promise.withResolvers<string>()
  server.policy = ({ recipient }) => (recipient === 'slow@example.com' ? held.promise : 'DUNNO')
  await queue(world, invitation('slow@example.com'))
  await queue(world, invitation('quick@example.com'))
  await server.mailTo('quick@example.com')
  assert.equal((await listed(world, 'slow@example.com')).state, 'queued')
  held.resolve('DUNNO')
  await server.mailTo('slow@example.com')
})

test(
  'a server that never greets, or never ends, costs a bounded time and the mail is tried again',
  needed,
  async () => {
    const { server } = shared ?? assert.fail()
    const held = Promise.withResolvers<string>()
    server.policy = () => held.promise
    const mail = {
      ...{ messageId: '<1@example.com>', from: { name: '', address: 'a@example.com' }, to: 'ada@example.com' },
      ...{ subject: 's', text: 't', html: '<p>t</p>' },
    }
    const to = smtpServer(`smtp://127.0.0.1:${server.port}`)
    const outcomes = await Promise.all([
      makeSmtpTransport(to, { greetingTimeout: 50 }).send(mail),
      makeSmtpTransport(to, { sessionMs: 50 }).send(mail),
    ])
    server.policy = () => 'DUNNO'
    held.resolve('DUNNO')
    assert.deepEqual(
      outcomes.map((one) => one.outcome === 'failed' && [one.step, one.isPermanent]),
      [
        ['connection', false],
        ['connection', false],
      ],
    )
  },
)

test('a link that has expired is not sent', needed, async () => {
  const { world } = shared ?? assert.fail()
  const { id } = await world.tenant()
  await queue(world, invitation('expired@example.com', id, { expires_at: new Date(0).toISOString() }))
  const failed = await ended(world, 'expired@example.com')
  assert.deepEqual([failed.state, failed.account_uuid, failed.attempts], ['failed', `ACC${id}`, 1])
  assert.match(failed.outcome, /expired/)
})

test('the test command returns the reply of the server or the step that failed, and is audited', needed, async (t) => {
  const login = { user: 'trunkline@example.com', password: 'p@ss word' }
  const server = await startPostfix(t, { tls: 'starttls', login })
  const user = 'trunkline%40example.com:p%40ss%20word@'
  const at = `127.0.0.1:${server.port}`
  const trusted = `${at}?requireTLS=true&ca=${server.caFile}`
  const world = await makeWorld({ TRUNKLINE_SMTP_URL: `smtp://${user}${trusted}`, TRUNKLINE_MAIL_FROM: sender })
  const { status, body } = await world.call('operator', 'POST', '/operator/mail/test', { to: 'ada@example.com' })
  assert.deepEqual([status, body.working], [200, true])
  assert.match(body.message, /^250 .*queued as/)
  assert.equal((await server.mailTo('ada@example.com')).subject, 'Test mail of 127.0.0.1:8080')
  const audit = (await world.call('operator', 'GET', '/operator/audit?action=testMail')).body.acts
  assert.deepEqual(audit[0].changes, [{ field: 'working', after: true }])
  const stepOf = async (url: string) => {
    const config = readConfig({ TRUNKLINE_SMTP_URL: url, TRUNKLINE_MAIL_FROM: sender })
    const mail = renderMail('test', {}, 'https://sms.example.com')
    const outcome = await makeMailer(config, makeMetrics()).send('1', 'ada@example.com', mail)
    assert.ok(outcome.outcome === 'failed' && !outcome.error.includes('wrong-password'))
    return outcome.step
  }
  const steps = {
    [`smtp://trunkline:wrong-password@${trusted}`]: 'login',
    // The certificate is not trusted; TLS is missing; the server speaks TLS after STARTTLS only.
    [`smtp://${user}${at}?requireTLS=true`]: 'tls',
    [`smtp://${at}`]: 'tls',
    [`smtps://${user}${at}`]: 'tls',
    // A server that takes mail after a login only refuses every recipient before.
    [`smtp://${trusted}`]: 'recipient',
    'smtp://mail.invalid': 'name',
    'smtp://127.0.0.1:9': 'connection',
  }
  for (const [url, step] of Object.entries(steps)) assert.equal(await stepOf(url), step, url)
})
