import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { inheritedEnvironment, preloadFlag } from '../../../test/child.ts'
import { type TestDatabase, testDatabase } from '../../../test/database.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeWorld, type World } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { storeFile } from '../documents/ops.ts'
import { openSeal } from '../keys/ops.ts'
import { makeMedia } from '../msgapp/media/ops.ts'
import { makeChatHarness } from '../msgapp/messages/testing.ts'
import { makeCredentialStore } from '../msgapp/runner/credential-store.ts'
import type { Settings } from './create/create-backup.ts'
import { backups } from './ops.ts'

export const passphrase = 'a passphrase for these tests'

const main = join(import.meta.dirname, '../../interfaces/cli/main.ts')

/** Runs the command line as a process of its own, on a home. */
export const runCli = (home: string, args: string[], env: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [preloadFlag, main, ...args], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inheritedEnvironment, TRUNKLINE_HOME: home, TRUNKLINE_BACKUP_PASSPHRASE: passphrase, ...env },
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = new Promise<{ status: number | null; out: string; err: string }>((resolve) =>
    child.on('close', (status) => resolve({ status, out, err })),
  )
  return { child, ended }
}

export const secret = 'the master key of these tests'
/** With the least cost of scrypt that a reader accepts. The command line uses the default. */
export const runControl = () => ({ signal: new AbortController().signal, report: () => {}, scryptLog: 14 })

/** Fetches files of messages into the store. @returns their keys */
const storeMedia = async (
  world: World,
  tenant: string,
  settings: Settings,
  { encryptFiles, files }: { readonly encryptFiles: boolean; readonly files: number },
): Promise<string[]> => {
  const { line, network } = await makeChatHarness(world, tenant)
  const vault = makeCredentialStore(world.db, world.parts.seal, () => {})
  await vault.write(line.channel, [{ type: 'session', id: 'a:b', value: Buffer.from('a key of a network') }])
  network.media = async () => ({
    outcome: 'done',
    value: { mimeType: null, body: Readable.from([randomBytes(100_000)]) },
  })
  const media = makeMedia({ ...world.parts, config: { ...world.parts.config, ...settings, encryptFiles } })
  const job = { account: tenant, runAt: new Date(), createdAt: new Date() }
  const keys: string[] = []
  for (let n = 0; n < files; n++) {
    const id = uuid()
    await world.db.run`
      insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, source, created_at)
      values (${tenant}, ${id}, ${line.channel}, 'document', 'application/pdf', 'a.pdf', ${{ id: 'f' }}, now())`
    assert.ok('file' in (await media.fetch(job, id, network, new AbortController().signal)))
    keys.push((await media.find(tenant, id))?.key ?? '')
  }
  return keys
}

/**
 * An installation with money, every kind of sealed value that is bound to a place, and files.
 * @param files plain ones, and the same number of encrypted ones
 */
export const makeInstallation = async (target?: TestDatabase, mediaStore: string | null = null, files = 1) => {
  const db = target ?? (await testDatabase())
  const home = temporaryFolder()
  const settings: Settings = { home, databaseUrl: db.url, masterKey: secret, mediaStore }
  await openSeal(db, { home, given: secret, forget: false }, () => {})
  const key = hash('sha256', secret, 'buffer')
  const world = await makeWorld({ TRUNKLINE_HOME: home }, { sandbox: true }, { db, key })
  const tenant = await world.tenant({ balance: '12.345678' })
  const answer = await world.call('operator', 'POST', '/operator/connections', {
    kind: 'smpp',
    name: 'acme',
    settings: { host: '127.0.0.1', port: 2775, system_id: 'me', password: 'sealed away' },
    enabled: false,
  })
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  const document = {
    account_id: tenant.id,
    id: uuid(),
    name: 'a.pdf',
    kind: 'identity',
    media_type: 'application/pdf',
  } as const
  await db.begin((tx) => storeFile(tx, world.parts.seal, document, randomBytes(1_500_000)))
  const keys = [
    ...(await storeMedia(world, tenant.id, settings, { encryptFiles: false, files })),
    ...(await storeMedia(world, tenant.id, settings, { encryptFiles: true, files })),
  ]
  const file = join(temporaryFolder(), 'a.backup')
  return { world, db, home, settings, tenant, keys, file }
}

/** Returns the faults by check. */
export const verify = async (settings: Settings, file: string) => {
  const { checks } = await backups.verify(settings, file, passphrase, runControl())
  return Object.fromEntries(checks.map(({ what, faults }) => [what, faults]))
}
