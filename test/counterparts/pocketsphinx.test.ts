import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { wavHeader } from '../../src/adapters/media/recording/wav.ts'
import { energyShare, monoOf } from '../../src/adapters/media/tone-testing.ts'
import { Receiver } from '../doubles/receiver.ts'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { isQuick } from '../quick.ts'
import { addTrunk, endedCall, freePortSettings } from '../voice/voice-fixture.ts'
import { openTelephone } from './telephone.ts'

// A telephone that runs baresip speaks with programs. pocketsphinx reads what they say: we wrote neither.

const model = existsSync('/usr/share/pocketsphinx/model/en-us')
const tools = [needs('espeak-ng'), needs('pocketsphinx_continuous'), needs('pocketsphinx-en-us', model)].find(
  ({ skip }) => skip !== false,
)

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

/** Returns a sound of one channel: a tone, then silence. */
const wavOf = (hertz: number, seconds: number, silence: number): Buffer => {
  const samples = Int16Array.from({ length: (seconds + silence) * 8_000 }, (_, n) =>
    n < seconds * 8_000 ? 12_000 * Math.sin((2 * Math.PI * hertz * n) / 8_000) : 0,
  )
  return Buffer.concat([wavHeader(samples.length, 1), Buffer.from(samples.buffer)])
}

test('programs and a telephone', needs('baresip'), async (t) => {
  const callee = '+442079460123'
  const platform = await startPlatform(undefined, freePortSettings)
  t.after(() => platform.end())
  const receiver = await new Receiver().up()
  t.after(() => receiver.down())
  const telephone = await openTelephone(
    t,
    (port) => `<sip:${callee}@127.0.0.1:${port}>;regint=0;catchall=yes;answermode=auto;audio_codecs=pcmu`,
    { 'silence.wav': wavOf(0, 0, 60), 'spoken.wav': wavOf(440, 3, 27) },
  )
  await addTrunk(platform, { port: telephone.port, prefixes: ['442079460'] })
  const { number } = await buyNumber(platform)
  const { account } = (await platform.call('GET', '/open/info')).body
  await platform.call('POST', `/operator/accounts/${account.uuid}/credit`, { amount: '100' })
  let calls = 0
  const begin = async (verbs: readonly object[]) => {
    const made = await platform.call('POST', '/open/voip/calls', { from_number: number, to: callee, verbs })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    calls++
  }
  /** Waits until the call is over. Returns the path of a recording of what the telephone heard. */
  const heard = async () => {
    const cdr = await endedCall(platform, calls)
    assert.equal(cdr.status, 'COMPLETED', JSON.stringify([cdr, telephone.program.output()]))
    const recording = await until(async () => {
      const found = globSync('*-dec.wav', { cwd: telephone.folder })
      return found.length === calls && found.toSorted().at(-1)
    })
    return join(telephone.folder, recording)
  }

  await t.test('digits that a program says are understood at the telephone', tools ?? {}, async () => {
    await begin([{ verb: 'pause' }, { verb: 'say', text: 'one two three', language: 'en-US' }, { verb: 'pause' }])
    const recording = await heard()
    const [sound, digits] = ['raw', 'gram'].map((kind) => join(telephone.folder, `digits.${kind}`)) as [string, string]
    writeFileSync(sound, at16kHz(recording))
    writeFileSync(digits, grammar)
    const read = ['-infile', sound, '-jsgf', digits, '-upperf', '3700', '-logfn', '/dev/null']
    assert.equal(execFileSync('pocketsphinx_continuous', read, { encoding: 'utf8' }).trim(), 'one two three')
  })

  await t.test(
    'a recording has the three seconds that the telephone speaks after the beep, without the silence after them',
    async () => {
      const files = () => globSync('recordings/**/*.wav*', { cwd: platform.home }).length
      // The telephone speaks a moment after the beep, and the moment is longer on a busy machine.
      await isQuick(300, async () => {
        const [known, reported] = [files(), receiver.of('/stored').length]
        await begin([{ verb: 'pause' }, { verb: 'record', timeout: 1, status_url: receiver.url('/stored') }])
        await until(async () => files() > known)
        telephone.tell('ausrc', `aufile,${join(telephone.folder, 'spoken.wav')}`)
        // Its jitter buffer keeps the end of the beep, as nothing follows.
        assert.ok(energyShare(monoOf(await heard()), 1_000) > 0.9, 'the beep')
        const { body } = await until(async () => receiver.of('/stored')[reported])
        const { recording_url, seconds } = JSON.parse(body).result
        const wav = Buffer.from(await (await fetch(recording_url)).arrayBuffer())
        const samples = Int16Array.from({ length: (wav.length - 44) / 2 }, (_, n) => wav.readInt16LE(44 + n * 2))
        assert.equal(samples.length, Math.round(seconds * 8_000))
        return energyShare(samples, 440) > 0.9 ? Math.abs(seconds - 3) * 1_000 : Number.POSITIVE_INFINITY
      })
    },
  )
})
