import { type ChildProcess, spawn } from 'node:child_process'
import { access, constants, open } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { delimiter, join } from 'node:path'
import { makeFairLimiter, QueueFull } from '../../../platform/lib/fair-limiter.ts'
import { speechProcessMs, speechQueue } from '../limits.ts'
import { failed } from './sound-error.ts'

// Speech by the program espeak-ng, where the machine has it. Texts of tenants go to its standard input alone.

/** A voice of espeak-ng. `languages`: lower-case codes that it speaks, the best first. */
type Voice = { readonly name: string; readonly languages: readonly string[] }

/** Speech engine of this machine. */
export type Speaker = {
  /** Returns the voice for a wish: the voice of this name or language, else of the language, else the default. */
  voiceOf(voice: string | null, language: string | null): string
  /**
   * Speaks a text to a new WAV file, whose header has placeholders for lengths.
   * @param voice of `voiceOf`
   * @throws SoundError
   */
  speak(account: string, text: string, voice: string, file: string): Promise<void>
  close(): void
}

const defaultVoice = 'en-us'

/** Returns the path of a program, or null. */
const findProgram = async (name: string): Promise<string | null> => {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name)
    const isHere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (folder !== '' && isHere) return path
  }
  return null
}

/** Only what the program needs: it has no business with our settings. */
const environment = { PATH: process.env.PATH, LANG: 'C.UTF-8' }

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => {
    child.once('error', reject).once('close', resolve)
  })

/** Parses the table of `espeak-ng --voices`: priority, language, age and gender, name, file, other languages. */
export const readVoices = (table: string): Voice[] =>
  table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, language, , , , ...others] = line.trim().split(/\s+/)
      if (language === undefined) return []
      const further = others.join(' ').matchAll(/\(([\w-]+) \d+\)/g)
      const languages = [language, ...[...further].map(([, one = '']) => one)].map((one) => one.toLowerCase())
      return /^[\w-]{1,60}$/.test(language) ? [{ name: language, languages }] : []
    })

const voicesOf = async (program: string): Promise<Voice[]> => {
  const child = spawn(program, ['--voices'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: environment,
    timeout: speechProcessMs,
  })
  const end = ended(child)
  end.catch(() => {})
  let table = ''
  for await (const piece of child.stdout.setEncoding('utf8')) table += piece
  await end
  return readVoices(table)
}

/** Returns the name of the voice for a language such as `de-AT`: exactly, then by its first part. */
export const chooseVoice = (voices: readonly Voice[], wished: string): string | null => {
  const wish = wished.toLowerCase().replaceAll('_', '-')
  const [base = ''] = wish.split('-')
  const speaks = (language: string) =>
    voices.find(({ languages: [first] }) => first === language) ??
    voices.find(({ languages }) => languages.includes(language))
  // `cmn-CN` and `zh-CN` are the same language.
  return (speaks(wish) ?? speaks(base))?.name ?? null
}

const speakOnce = async (program: string, text: string, voice: string, file: string, children: Set<ChildProcess>) => {
  const output = await open(file, 'wx', 0o600)
  try {
    const child = spawn(program, ['--stdin', '--stdout', '-b', '1', '-v', voice], {
      stdio: ['pipe', output.fd, 'ignore'],
      env: environment,
      timeout: speechProcessMs,
      killSignal: 'SIGKILL',
    })
    children.add(child)
    const end = ended(child).finally(() => children.delete(child))
    // A program that ends early closes its input.
    child.stdin?.on('error', () => {}).end(text)
    const code = await end.catch((error: Error) => {
      throw failed('tts_unavailable', `espeak-ng cannot be started: ${error.message}`)
    })
    if (code === null)
      throw failed('tts_unavailable', `espeak-ng was ended, or spoke longer than ${speechProcessMs / 1_000} s`)
    if (code !== 0) throw failed('tts_unavailable', `espeak-ng ended with code ${code}`)
    if ((await output.stat()).size === 0) throw failed('tts_empty', 'espeak-ng said nothing')
  } finally {
    await output.close()
  }
}

/** @param path of the program. Default: espeak-ng on the path @returns null where the program is missing */
export const findSpeaker = async (path?: string): Promise<Speaker | null> => {
  const program = path ?? (await findProgram('espeak-ng'))
  if (program === null) return null
  const voices = await voicesOf(program).catch((): Voice[] => [])
  const cores = availableParallelism()
  const turns = makeFairLimiter({ perKey: cores, total: cores, queue: speechQueue })
  const children = new Set<ChildProcess>()
  return {
    voiceOf: (voice, language) => {
      for (const wished of [voice, language]) {
        const found = wished === null ? null : chooseVoice(voices, wished)
        if (found !== null) return found
      }
      return defaultVoice
    },
    speak: async (account, text, voice, file) => {
      const work = turns.run(account, () => speakOnce(program, text, voice, file, children))
      await work.catch((error: unknown) => {
        throw error instanceof QueueFull ? failed('tts_unavailable', 'too many texts wait to be spoken') : error
      })
    },
    close: () => {
      for (const child of children) child.kill('SIGKILL')
    },
  }
}
