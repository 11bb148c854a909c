import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { compile } from '../compiler.ts'
import { temporaryFolder } from '../servers.ts'
import { makeWorld } from '../world.ts'

// The SDK as it is published: its size, its three formats, its types, and its path on the server.

const root = join(import.meta.dirname, '../..')
const sdk = join(root, 'packages/voice-sdk')
const names = ['Call', 'Device', 'VoiceError']

test('the browser loads at most 65 KB', () => {
  for (const file of ['voice.js', 'voice.mjs', 'voice.cjs']) {
    const size = gzipSync(readFileSync(join(sdk, 'dist', file)), { level: 9 }).length
    assert.ok(size > 20_000 && size <= 65_000, `${file}: ${size} bytes`)
  }
})

test('the module, the CommonJS form and the global one export the same names', async () => {
  const url = pathToFileURL(join(sdk, 'dist/voice.mjs')).href
  const module: Record<string, unknown> = await import(url)
  assert.deepEqual(Object.keys(module).sort(), names)
  const required: Record<string, unknown> = createRequire(import.meta.url)(join(sdk, 'dist/voice.cjs'))
  assert.deepEqual(Object.keys(required).sort(), names)
  const code = readFileSync(join(sdk, 'dist/voice.js'), 'utf8')
  const found: string[] = new Function(`${code}; return Object.keys(Trunkline)`)()
  assert.deepEqual(found.sort(), names)
})

test('a program in TypeScript uses the types that the package ships, and JsSIP’s are not among them', () => {
  const folder = temporaryFolder()
  const types = join(folder, 'node_modules/@trunkline/voice-sdk')
  mkdirSync(types, { recursive: true })
  const made = spawnSync(process.execPath, [join(root, 'packages/declarations.mjs'), sdk, join(types, 'dist/types')])
  assert.equal(made.status, 0, String(made.stderr))
  symlinkSync(join(sdk, 'package.json'), join(types, 'package.json'))
  const page = `import { type Call, Device, VoiceError, type Quality } from '@trunkline/voice-sdk'
const device = new Device({ token: '', tokenExpiryLeadMs: 1, defaultExtraHeaders: { Desk: '4' } })
device.on('incoming', async (call: Call) => {
  call.on('quality', ({ mos }: Quality) => mos.toFixed(1))
  call.on('disconnect', ({ reason }) => reason === 'hangup')
  await call.accept()
  const pair: RTCPeerConnection = call.session.connection
  pair.getStats()
})
device.on('unregistered', ({ reason }) => reason === 'replaced')
export const dial = (): Promise<Call> => device.connect({ to: '+4420' })
export const isDenied = (error: unknown): boolean => error instanceof VoiceError && error.code === 'MEDIA_DENIED'
`
  writeFileSync(join(folder, 'page.ts'), page)
  const flags = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'esnext', '--target', 'es2022']
  const more = ['--moduleResolution', 'bundler', '--lib', 'es2022,dom', '--types', '']
  const { status, stdout } = compile([...flags, ...more, 'page.ts'], folder)
  assert.equal(status, 0, stdout)
})

test('/sdk/voice.js is the built SDK, for pages of every origin, and compressed for transfer', async () => {
  const { app } = await makeWorld()
  const plain = await app.inject({ url: '/sdk/voice.js' })
  assert.equal(plain.statusCode, 200)
  assert.equal(plain.body, readFileSync(join(sdk, 'dist/voice.js'), 'utf8'))
  assert.match(String(plain.headers['content-type']), /^(?:text|application)\/javascript/)
  assert.equal(plain.headers['access-control-allow-origin'], '*')
  const small = await app.inject({ url: '/sdk/voice.mjs', headers: { 'accept-encoding': 'gzip, br' } })
  assert.equal(small.headers['content-encoding'], 'gzip')
  assert.ok(small.rawPayload.length <= 65_000)
  const { body } = await app.inject({ url: '/sdk/licenses.txt' })
  for (const name of ['debug', 'events', 'jssip', 'sdp-transform'])
    assert.match(body, new RegExp(`^${name} [\\d.]+: MIT$`, 'm'))
  for (const url of ['/sdk/voice.cjs', '/sdk/.stamp', '/sdk/types/index.d.ts'])
    assert.equal((await app.inject({ url })).statusCode, 404, url)
})
