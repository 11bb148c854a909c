import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runChild } from '../../test/child.ts'
import { temporaryFolder } from '../../test/servers.ts'
import { claimHome } from './home.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const newHome = () => join(temporaryFolder(), 'home')

/** Claims the home, says `have` or why not, then does as it is told: drain, release or end. */
const claimant = (home: string, options = {}) =>
  runChild(
    `
    import { createInterface } from 'node:readline'
    import { claimHome } from ${JSON.stringify(import.meta.resolve('./home.ts'))}
    const log = { info: console.log, warn: console.log, error: console.log }
    const claim = await claimHome(${JSON.stringify(home)}, log).catch((error) => console.log(error.message))
    if (claim) {
      console.log('have')
      for await (const line of createInterface({ input: process.stdin })) {
        if (line === 'drain') claim.draining()
        if (line === 'release') claim.release()
        console.log(line)
      }
    }`,
    options,
  )

test('a home that a living instance uses is refused, by a message that names it', async () => {
  const home = newHome()
  const first = claimant(home)
  assert.equal(await first.line(), 'have')
  await assert.rejects(claimHome(home, silent), (error: Error) => {
    assert.match(error.message, new RegExp(`${home} is in use by process ${first.pid}, started 2`))
    assert.match(error.message, /TRUNKLINE_HOME/)
    return true
  })
  await first.kill('SIGKILL')
})

test('a home is free at once after kill -9 of its instance, a draining one included', async () => {
  const home = newHome()
  for (const state of ['running', 'draining']) {
    const first = claimant(home)
    assert.equal(await first.line(), 'have')
    if (state === 'draining') {
      first.tell('drain')
      assert.equal(await first.line(), 'drain')
    }
    await first.kill('SIGKILL')
    const began = performance.now()
    const claim = await claimHome(home, silent)
    assert.ok(performance.now() - began < 500)
    claim.release()
  }
})

test('a home that is draining is waited for', async () => {
  const home = newHome()
  const first = await claimHome(home, silent)
  first.draining()
  const second = claimant(home)
  assert.match(await second.line(), new RegExp(`process ${process.pid} is still finishing its work; waiting for it`))
  first.release()
  assert.equal(await second.line(), 'have')
  await second.kill('SIGKILL')
})

test('a home that does not finish draining is refused after the wait', async () => {
  const home = newHome()
  const first = await claimHome(home, silent)
  first.draining()
  await assert.rejects(claimHome(home, silent, 200), /in use by process .* draining for 0.2 s/)
  first.release()
})

test('a home that cannot be written is refused with the way out', {
  skip: process.getuid?.() !== 0 && 'needs root',
}, async () => {
  const home = join(temporaryFolder(), 'home')
  ;(await claimHome(home, silent)).release()
  const stranger = claimant(home, { uid: 65534, gid: 65534, cwd: '/' })
  assert.match(await stranger.line(), new RegExp(`${home} cannot be written by this user`))
  await stranger.exited
})

test('of many starts at the same instant exactly one has the home', async () => {
  const home = newHome()
  const claims = await Promise.allSettled(
    Array.from({ length: 6 }, async () => {
      const child = claimant(home)
      return { child, said: await child.line() }
    }),
  )
  const said = claims.map((claim) => (claim.status === 'fulfilled' ? claim.value.said : String(claim.reason)))
  assert.equal(said.filter((text) => text === 'have').length, 1, said.join('\n'))
  assert.equal(said.filter((text) => text.includes('is in use by')).length, 5, said.join('\n'))
  for (const claim of claims) if (claim.status === 'fulfilled') await claim.value.child.kill('SIGKILL')
})

test('what a dead instance left behind does not name a stranger who now has its process id', async () => {
  const home = newHome()
  const first = await claimHome(home, silent)
  first.release()
  // Left by an instance that was killed; its process id is a living process now, ours.
  writeFileSync(join(home, 'holder.json'), JSON.stringify({ pid: process.pid, since: 'then', draining: false }))
  const second = await claimHome(home, silent)
  second.release()
})

test('a released home can be claimed again in the same process, and not twice at a time', async () => {
  const home = newHome()
  const first = await claimHome(home, silent)
  await assert.rejects(claimHome(home, silent), /in use/)
  first.release()
  first.release()
  const second = await claimHome(home, silent)
  second.release()
})
