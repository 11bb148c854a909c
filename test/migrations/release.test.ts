import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { lastRelease, makeWorktree, whyAbsent } from '../../scripts/releases/releases.ts'
import { longForm } from '../needs.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'

// An installation of an earlier version is continued by this one, and so is its backup: npm test -- --long releases

/** The last commit before the baseline of the schema, and the last release. */
const earlier = [{ version: 'the version before the baseline', commit: 'ab8c613e' }, lastRelease()]

const trunkline = (tree: string, home: string, ...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(tree, 'src/interfaces/cli/main.ts'), ...args], {
    cwd: home,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, TRUNKLINE_HOME: home, TRUNKLINE_BACKUP_PASSPHRASE: 'a passphrase for these tests' },
  })
  assert.equal(status, 0, stdout + stderr)
  return stdout
}

const reads = [
  ...['/open/info', '/open/contacts', '/open/sms/messages', '/open/sms/channels', '/open/ledger', '/open/webhooks'],
  '/open/users',
]

const readAll = async ({ call }: Platform) =>
  Object.fromEntries(
    await Promise.all(
      reads.map(async (path) => {
        const { status, body } = await call('GET', path)
        assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
        // It counts these requests.
        if (path === '/open/info') delete body.usage
        return [path, body] as const
      }),
    ),
  )

/** Buys a number, sends a message until it is delivered, and adds a contact. */
const makeData = async (platform: Platform): Promise<string> => {
  const { call } = platform
  const { number } = await buyNumber(platform)
  const sent = { from_number: number, to_number: '+447700900123', text: 'from an earlier version' }
  const { body } = await call('POST', '/open/sms/send', sent)
  await until(async () => {
    const { message } = (await call('GET', `/open/sms/message/${body.message_uuid}`)).body
    return message.status === 'delivered'
  })
  const contact = { first_name: 'Ada', contact_details: [{ type: 'E', value: 'ada@example.com' }] }
  const made = await call('POST', '/open/contacts', contact)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return number
}

for (const { version, commit } of earlier)
  test(
    `an installation of ${version} (${commit}) is continued with its data, and so is its backup`,
    longForm(),
    async (t) => {
      const reason = whyAbsent(commit)
      if (reason !== null) return t.skip(reason)
      const worktree = makeWorktree(commit, true)
      t.after(worktree.remove)
      const [home, restored] = [temporaryFolder(), temporaryFolder()]
      const old = await startPlatform(home, {}, worktree.folder)
      t.after(() => old.end('SIGKILL'))
      const number = await makeData(old)
      const before = await readAll(old)
      const file = join(temporaryFolder(), 'a.backup')
      trunkline(worktree.folder, home, 'backup', file)
      assert.equal(await old.end('SIGKILL'), 'SIGKILL')

      trunkline(join(import.meta.dirname, '../..'), restored, 'restore', file)
      for (const continued of [home, restored]) {
        const platform = await startPlatform(continued)
        t.after(() => platform.end('SIGKILL'))
        // New fields are allowed, and no other difference.
        assert.partialDeepStrictEqual(await readAll(platform), before)
        const sent = { from_number: number, to_number: '+447700900124', text: 'from this version' }
        assert.equal((await platform.call('POST', '/open/sms/send', sent)).status, 202)
        assert.equal(await platform.end(), 0)
      }
    },
  )
