import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { monoOf } from '../../src/adapters/media/tone-testing.ts'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform } from '../platform.ts'
import { addTrunk, endedCall, freePortSettings } from '../voice/voice-fixture.ts'
import { openTelephone } from './telephone.ts'

// Speech that a program says, recorded by baresip and read by pocketsphinx: we wrote neither.

const model = existsSync('/usr/share/pocketsphinx/model/en-us')
const tools = [
  needs('baresip'),
  needs('espeak-ng'),
  needs('pocketsphinx_continuous'),
  needs('pocketsphinx-en-us', model),
].find(({ skip }) => skip !== false)

const grammar = `#JSGF V1.0;
grammar digits;
<digit> = zero | one | two | three | four | five | six | seven | eight | nine;
public <digits> = <digit> <digit> <digit>;
`

/** Returns a mono recording of 8 kHz at 16 kHz, which the model is for, with half a second of silence around it. */
const at16kHz = (path: string): Buffer => {
  const file = readFileSync(path)
  assert.deepEqual([file.readUInt16LE(22), file.readUInt32LE(24)], [1, 8_000], 'mono, 8 kHz')
  const samples = [...monoOf(path)]
  const doubled = samples.flatMap((one, n) => [one, Math.round((one + (samples[n + 1] ?? one)) / 2)])
  const silence = new Array<number>(8_000).fill(0)
  return Buffer.from(Int16Array.from([...silence, ...doubled, ...silence]).buffer)
}

test('digits that a program says are understood at a telephone', tools ?? {}, async (t) => {
  const callee = '+442079460123'
  const platform = await startPlatform(undefined, freePortSettings)
  t.after(() => platform.end())
  const telephone = await openTelephone(
    t,
    (port) => `<sip:${callee}@127.0.0.1:${port}>;regint=0;catchall=yes;answermode=auto;audio_codecs=pcmu`,
  )
  await addTrunk(platform, { port: telephone.port, prefixes: ['442079460'] })
  const { number } = await buyNumber(platform)
  const { account } = (await platform.call('GET', '/open/info')).body
  await platform.call('POST', `/operator/accounts/${account.uuid}/credit`, { amount: '100' })
  const verbs = [{ verb: 'pause' }, { verb: 'say', text: 'one two three', language: 'en-US' }, { verb: 'pause' }]
  const made = await platform.call('POST', '/open/voip/calls', { from_number: number, to: callee, verbs })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const cdr = await endedCall(platform)
  assert.equal(cdr.status, 'COMPLETED', JSON.stringify([cdr, telephone.program.output()]))
  const [recording] = globSync('*-dec.wav', { cwd: telephone.folder })
  assert.ok(recording, telephone.program.output())
  const [sound, digits] = ['raw', 'gram'].map((kind) => join(telephone.folder, `digits.${kind}`)) as [string, string]
  writeFileSync(sound, at16kHz(join(telephone.folder, recording)))
  writeFileSync(digits, grammar)
  const read = ['-infile', sound, '-jsgf', digits, '-upperf', '3700', '-logfn', '/dev/null']
  assert.equal(execFileSync('pocketsphinx_continuous', read, { encoding: 'utf8' }).trim(), 'one two three')
})
