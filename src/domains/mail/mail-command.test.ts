import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startedHome, startPlatform } from '../../../test/platform.ts'
import { needsPostfix, startPostfix } from '../../../test/postfix.ts'
import { contracts } from '../../contracts.ts'
import { makeShell } from '../../interfaces/cli/testing.ts'

test(
  'an operator tries out mail on the command line, and an outage of the server does not',
  needsPostfix(),
  async (t) => {
    const server = await startPostfix(t, { tls: 'direct' })
    const platform = await startPlatform(startedHome(), {
      TRUNKLINE_SMTP_URL: `smtps://127.0.0.1:${server.port}?ca=${server.caFile}`,
      TRUNKLINE_MAIL_FROM: 'no-reply@example.com',
    })
    t.after(() => platform.end('SIGKILL'))
    const { body } = await platform.call('POST', '/operator/keys', { label: 'command line' })
    const environment = { TRUNKLINE_URL: platform.url, TRUNKLINE_OPERATOR_KEY: body.key }
    const shell = makeShell(contracts, { environment })
    const tried = await shell('mail', 'test', '--to', 'ada@example.com')
    assert.deepEqual([tried.status, tried.err], [0, ''])
    assert.match(tried.out, /250 .*queued as/)
    await server.mailTo('ada@example.com')
    await server.stop()
    const failed = await shell('mail', 'test', '--to', 'ada@example.com', '--json')
    assert.deepEqual([failed.status, JSON.parse(failed.out).step], [1, 'connection'])
    assert.equal((await shell('mail', 'list')).status, 0)
    assert.equal((await fetch(`${platform.url}/readyz`)).status, 200)
  },
)
