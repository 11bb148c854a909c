import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import './database.ts' // ends what this file starts
import { atEnd } from './endings.ts'
import { startPlatform, until } from './platform.ts'
import { startServer, temporaryFolder } from './servers.ts'

// A real PostgreSQL on a small file system in memory, which is filled up.

const mount = (): string | null => {
  const folder = temporaryFolder()
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=500m,mode=0711', 'tmpfs', folder])
  if (status !== 0) return null
  atEnd(async () => void spawnSync('umount', ['-l', folder]))
  return folder
}

const disk = mount()
const mayMount = { skip: disk === null ? 'needs root, and the right to mount a tmpfs' : false }

test(
  'a full disk of the database is logged within 2 s, makes the process unready, loses nothing, and ends by itself',
  mayMount,
  async () => {
    assert.ok(disk)
    const server = await startServer({ home: join(disk, 'home'), durable: false })
    atEnd(server.stop)
    const platform = await startPlatform(undefined, {
      DATABASE_URL: server.url,
      TRUNKLINE_MASTER_KEY: 'a master key for these tests',
    })
    const accepted: string[] = []
    const statuses = new Set<number>()
    const write = async () => {
      const name = `account ${accepted.length} ${statuses.size}`
      const { status } = await platform.call('POST', '/operator/accounts', { name })
      statuses.add(status)
      if (status === 201) accepted.push(name)
      return status
    }
    const readiness = () => platform.call('GET', '/readyz')
    const lines = (text: string) => platform.output().split(`"${text}"`).length - 1
    assert.equal(await write(), 201)
    assert.equal((await readiness()).status, 200)

    const filler = join(disk, 'filler')
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'])
    spawnSync('dd', ['if=/dev/zero', `of=${filler}-rest`, 'bs=1k'])
    // Also without any request that writes.
    await until(async () => (await readiness()).body.error_code === 'database_full')
    await until(async () => (await write()) === 503)
    await until(async () => lines('database: unavailable') === 1)
    for (let i = 0; i < 20; i++) await write()
    assert.equal((await readiness()).status, 503)
    assert.equal(lines('database: available again'), 0)

    for (const path of [filler, `${filler}-rest`]) rmSync(path)
    await until(async () => (await readiness()).status === 200)
    await until(async () => lines('database: available again') === 1)
    assert.equal(await write(), 201)
    assert.deepEqual([...statuses].sort(), [201, 503])
    const listed = await platform.call('GET', '/operator/accounts?limit=100')
    const names = new Set(listed.body.accounts.map(({ name }: { name: string }) => name))
    assert.deepEqual(
      accepted.filter((name) => !names.has(name)),
      [],
    )
    assert.equal(lines('database: unavailable'), 1)
    assert.equal(await platform.end(), 0)
  },
)
