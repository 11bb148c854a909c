import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { needs } from '../../../../test/needs.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { makeWorld } from '../../../../test/world.ts'
import { linear } from './sound-testing.ts'
import { makeSounds, type SoundSource, type SoundsOptions } from './sounds.ts'
import { chooseVoice, findSpeaker, readVoices } from './speech.ts'
import { readSpokenTones } from './spoken-tones.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_HOME: temporaryFolder() })
const account = (await world.tenant()).id
const { signal } = new AbortController()

const prepareWith = async (options: SoundsOptions) => {
  const home = temporaryFolder()
  const sounds = makeSounds({ ...world.parts, config: { home }, media: world.parts.chat.media }, options)
  after(() => sounds.close())
  const prepare = (text: string, wish: Partial<Extract<SoundSource, { text: string }>> = {}) =>
    sounds.prepare(account, { text, language: null, voice: null, ...wish }, signal)
  return { prepare, home }
}

/** A program in the place of espeak-ng. */
const program = (script: string): string => {
  const path = join(temporaryFolder(), 'espeak-ng')
  writeFileSync(path, `#!/bin/sh\nif [ "$1" = --voices ]; then exit 0; fi\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

const fileOf = (prepared: Awaited<ReturnType<Awaited<ReturnType<typeof prepareWith>>['prepare']>>): Buffer => {
  if (!('sounds' in prepared)) return assert.fail(JSON.stringify(prepared))
  const [sound] = prepared.sounds
  assert.ok(sound && 'file' in sound && sound.loop === 1 && sound.fromMs === 0)
  return readFileSync(sound.file)
}

test('without espeak-ng a text is spoken as tones that can be read back, and the note says so', async () => {
  const { prepare } = await prepareWith({ speaker: Promise.resolve(null) })
  const prepared = await prepare('Your code is 1 2 3.')
  assert.deepEqual(readSpokenTones(linear(fileOf(prepared))), ['Your code is 1 2 3.'])
  assert.match(String('note' in prepared && prepared.note), /tones.*espeak-ng is not installed/)
})

test('espeak-ng speaks in the language of the text, the same text once', needs('espeak-ng'), async () => {
  const { prepare, home } = await prepareWith({})
  const english = await prepare('The weather is fine today.', { language: 'en-US' })
  const octets = fileOf(english)
  assert.ok(octets.length > 8_000 && octets.length < 40_000, `${octets.length} octets`)
  assert.ok(linear(octets).some((sample) => Math.abs(sample) > 2_000))
  assert.equal('note' in english && english.note, 'spoken by espeak-ng, voice en-us')
  assert.deepEqual(await prepare('The weather is fine today.', { language: 'en-US' }), english)
  const german = await prepare('Das Wetter ist heute schön.', { language: 'de-AT' })
  assert.equal('note' in german && german.note, 'spoken by espeak-ng, voice de')
  assert.equal(readdirSync(join(home, 'sounds', account)).length, 2)
})

test('a text is never an argument of espeak-ng, and its voice is one that it has', needs('espeak-ng'), async () => {
  const { prepare } = await prepareWith({})
  const text = '-f speech.txt -w written.wav'
  assert.ok(fileOf(await prepare(text)).length > 8_000, 'the words are spoken')
  const prepared = await prepare('Hello.', { voice: '--path=/tmp', language: '../../etc' })
  assert.equal('note' in prepared && prepared.note, 'spoken by espeak-ng, voice en-us')
})

test('the longest text is spoken within the time for a sound', needs('espeak-ng'), async () => {
  const { prepare } = await prepareWith({})
  assert.ok(fileOf(await prepare('Please hold the line. '.repeat(186))).length > 8_000 * 120)
  const refused = await prepare('x'.repeat(4_097))
  assert.equal('error_code' in refused && refused.error_code, 'too_large')
})

test('a text of nothing, and an engine that says nothing, are tts_empty', async () => {
  const mute = findSpeaker(program('cat >/dev/null'))
  // The header of a streamed WAV file, and half a second of silence.
  const header =
    'RIFF\\044\\360\\377\\177WAVEfmt \\020\\0\\0\\0\\001\\0\\001\\0\\100\\037\\0\\0\\200\\076\\0\\0\\002\\0\\020\\0data\\0\\360\\377\\177'
  const silent = findSpeaker(program(`cat >/dev/null; printf '${header}'; head -c 8000 /dev/zero`))
  for (const speaker of [mute, silent]) {
    const refused = await (await prepareWith({ speaker })).prepare('...')
    assert.equal('error_code' in refused && refused.error_code, 'tts_empty', JSON.stringify(refused))
  }
  const refused = await (await prepareWith({ speaker: mute })).prepare(' \n')
  assert.equal('error_code' in refused && refused.error_code, 'tts_empty')
})

test('an engine that stalls is not waited for beyond the time for a sound, and one that fails is reported', async () => {
  const stalled = await prepareWith({ speaker: findSpeaker(program('exec sleep 60')), readyMs: 50 })
  const refused = await stalled.prepare('Hello.')
  assert.equal('error_code' in refused && refused.error_code, 'tts_unavailable')
  for (const script of ['exit 3', 'kill -9 $$']) {
    const failed = await (await prepareWith({ speaker: findSpeaker(program(script)) })).prepare('Hello.')
    assert.equal('error_code' in failed && failed.error_code, 'tts_unavailable', JSON.stringify(failed))
  }
  const absent = await (await prepareWith({ speaker: findSpeaker('/nowhere/espeak-ng') })).prepare('Hello.')
  assert.equal('error_code' in absent && absent.error_code, 'tts_unavailable')
  const half = await (await prepareWith({ speaker: findSpeaker(program("printf 'RIFF'")) })).prepare('Hello.')
  assert.equal('error_code' in half && half.error_code, 'format')
})

test('a voice is chosen by its language exactly, then by its first part', () => {
  const voices = readVoices(`Pty Language       Age/Gender VoiceName          File                 Other Languages
 5  cmn             --/M      Chinese_(Mandarin) sit/cmn              (zh-cmn 5)(zh 5)
 2  en-gb           --/M      English            gmw/en               (en 2)
 5  pt              --/M      Portuguese         roa/pt               (pt-PT 5)
 5  pt-br           --/M      Portuguese_(Br)    roa/pt-BR            (pt 6)
 5  a;b             --/M      Invalid            x/y
`)
  const wishes = ['en-GB', 'en-AU', 'pt_BR', 'pt-PT', 'zh-CN', 'cmn-TW', 'xx', '', 'a;b']
  const chosen = wishes.map((wish) => chooseVoice(voices, wish))
  assert.deepEqual(chosen, ['en-gb', 'en-gb', 'pt-br', 'pt', 'cmn', 'cmn', null, null, null])
})
