import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runChild } from '../../../test/child.ts'
import { isQuick } from '../../../test/quick.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { lockDataDirectory } from './data-directory.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const newHome = () => join(temporaryFolder(), 'home')

/** Claims the home, prints `have` or the error, then obeys its input: drain, release or end. */
const claimant = (home: string, options = {}) =>
  runChild(
    `
    import { createInterface } from 'node:readline'
    import { lockDataDirectory } from ${JSON.stringify(import.meta.resolve('./data-directory.ts'))}
    const log = { info: console.log, warn: console.log, error: console.log }
    const claim = await lockDataDirectory(${JSON.stringify(home)}, log).catch((error) => console.log(error.message))
    if (claim) {
      console.log('have')
      for await (const line of createInterface({ input: process.stdin })) {
        if (line === 'drain') claim.markDraining()
        if (line === 'release') claim.release()
        console.log(line)
      }
    }`,
    options,
  )

test('a home in use is refused with a message that names its user', async () => {
  const home = newHome()
  const first = claimant(home)
  assert.equal(await first.readLine(), 'have')
  await assert.rejects(lockDataDirectory(home, silent), (error: Error) => {
    assert.match(error.message, new RegExp(`${home} is in use by process ${first.pid}, started 2`))
    assert.match(error.message, /TRUNKLINE_HOME/)
    return true
  })
  await first.kill('SIGKILL')
})

test('a home is free at once after kill -9 of its instance, even a draining one', async () => {
  const home = newHome()
  for (const state of ['running', 'draining']) {
    await isQuick(500, async () => {
      const first = claimant(home)
      assert.equal(await first.readLine(), 'have')
      if (state === 'draining') {
        first.writeLine('drain')
        assert.equal(await first.readLine(), 'drain')
      }
      await first.kill('SIGKILL')
      const began = performance.now()
      const claim = await lockDataDirectory(home, silent)
      const took = performance.now() - began
      claim.release()
      return took
    })
  }
})

test('a start waits for a home that is draining', async () => {
  const home = newHome()
  const first = await lockDataDirectory(home, silent)
  first.markDraining()
  const second = claimant(home)
  assert.match(
    await second.readLine(),
    new RegExp(`process ${process.pid} is still finishing its work; waiting for it`),
  )
  first.release()
  assert.equal(await second.readLine(), 'have')
  await second.kill('SIGKILL')
})

test('a home that does not finish draining is refused after the wait', async () => {
  const home = newHome()
  const first = await lockDataDirectory(home, silent)
  first.markDraining()
  await assert.rejects(lockDataDirectory(home, silent, 200), /in use by process .* draining for 0.2 s/)
  first.release()
})

test('a home that cannot be written is refused with the remedy', {
  skip: process.getuid?.() !== 0 && 'needs root',
}, async () => {
  const home = join(temporaryFolder(), 'home')
  ;(await lockDataDirectory(home, silent)).release()
  const stranger = claimant(home, { uid: 65534, gid: 65534, cwd: '/' })
  assert.match(await stranger.readLine(), new RegExp(`${home} cannot be written by this user`))
  await stranger.exited
})

test('of many simultaneous starts exactly one gets the home', async () => {
  const home = newHome()
  const claims = await Promise.allSettled(
    Array.from({ length: 6 }, async () => {
      const child = claimant(home)
      return { child, said: await child.readLine() }
    }),
  )
  const said = claims.map((claim) => (claim.status === 'fulfilled' ? claim.value.said : String(claim.reason)))
  assert.equal(said.filter((text) => text === 'have').length, 1, said.join('\n'))
  assert.equal(said.filter((text) => text.includes('is in use by')).length, 5, said.join('\n'))
  for (const claim of claims) if (claim.status === 'fulfilled') await claim.value.child.kill('SIGKILL')
})

test('the remains of a dead instance do not name a stranger with its process id', async () => {
  const home = newHome()
  const first = await lockDataDirectory(home, silent)
  first.release()
  // Left by a killed instance; its process id now belongs to a living process, this one.
  writeFileSync(join(home, 'holder.json'), JSON.stringify({ pid: process.pid, since: 'then', draining: false }))
  const second = await lockDataDirectory(home, silent)
  second.release()
})

test('a released home can be claimed again in the same process, and not twice at a time', async () => {
  const home = newHome()
  const first = await lockDataDirectory(home, silent)
  await assert.rejects(lockDataDirectory(home, silent), /in use/)
  first.release()
  first.release()
  const second = await lockDataDirectory(home, silent)
  second.release()
})
