import type { TSchema } from 'typebox'
import type { Contract } from '../http/endpoint.ts'
import { properties } from '../http/openapi.ts'
import { sortArguments, type Typed, UsageError } from './args.ts'
import { about, type Command, commandsOf, find, knownOf, standsAlone } from './command.ts'
import { keywords } from './field.ts'
import { helpOf, helpOfCommand, helpOfListen } from './help.ts'
import { listen, listenKnown, listenTo, readWish } from './listen.ts'
import { checkColumns, format } from './output.ts'
import { requestOf } from './request.ts'
import { CallError, type Files, send } from './send.ts'
import type { Read } from './value.ts'

/** What surrounds a command. */
export type Surroundings = {
  readonly environment: NodeJS.ProcessEnv
  readonly version: string
  /** Characters of a line of the terminal; null without one. */
  readonly width: number | null
  readonly read: Read
  readonly files: Files
  readonly write: (text: string | Buffer) => void
  readonly complain: (text: string) => void
  /** Whether what is written may be coloured. */
  readonly isColoured: boolean
  /** From its first call on, Ctrl-C aborts this instead of ending the program. */
  readonly untilStopped: () => AbortSignal
}

/** Whose key a command sends: the option, the setting and the header. */
const keys = {
  operator: ['operator-key', 'TRUNKLINE_OPERATOR_KEY', 'x-operator-key'],
  account: ['api-key', 'TRUNKLINE_API_KEY', 'x-user-api-key'],
} as const

const keyOf = (auth: Contract['auth'], { options }: Typed, environment: NodeJS.ProcessEnv): Record<string, string> => {
  if (auth === 'none' || auth === 'voice') return {}
  const [option, variable, header] = keys[auth]
  const key = options.get(option)?.at(-1) ?? environment[variable] ?? ''
  if (key === '') throw new UsageError(`there is no key: give --${option}, or set ${variable}`)
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError(`--${option} holds characters that no key has`)
  return { [header]: key }
}

const addressOf = ({ options }: Typed, environment: NodeJS.ProcessEnv): URL => {
  const text = options.get('url')?.at(-1) ?? (environment.TRUNKLINE_URL || 'http://127.0.0.1:8080')
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new UsageError(`--url wants an address such as https://sms.example.com, not "${text}"`)
}

/** The refusal with what the endpoint tells beside its message. */
const withFaults = (error: CallError, faults: TSchema, width: number | null): CallError => {
  const names = properties(faults).map(([name]) => name)
  const told = Object.fromEntries(Object.entries(error.reply).filter(([name]) => names.includes(name)))
  if (Object.keys(told).length === 0) return error
  return new CallError(`${error.message}\n\n${format(faults, told, width ?? Number.POSITIVE_INFINITY)}`, error.reply)
}

/** The columns that --columns names; null without it. */
const columnsIn = ({ options }: Typed): string[] | null => {
  const texts = options.get('columns')
  return texts ? texts.flatMap((text) => text.split(',')).map((text) => text.trim().replaceAll('-', '_')) : null
}

const obeyListen = async (args: readonly string[], around: Surroundings): Promise<void> => {
  const { environment } = around
  const typed = sortArguments(args, listenKnown)
  const wish = readWish(typed)
  const access = { base: addressOf(typed, environment), headers: keyOf('account', typed, environment) }
  await listenTo(access, wish, { ...around, stop: around.untilStopped() })
}

/** @returns false when the command found that what it tried does not work */
const obey = async (args: readonly string[], commands: readonly Command[], around: Surroundings): Promise<boolean> => {
  const { environment, version, write, read, width } = around
  const first = sortArguments(args, null)
  const lineWidth = Math.min(width ?? 100, 120)
  const written = (text: string | Buffer): true => {
    write(text)
    return true
  }
  if (first.options.has('version')) return written(`${version}\n`)
  const isHelp = first.options.has('help')
  const [noun, verb] = first.words
  if (noun === listen.name) {
    if (isHelp) return written(helpOfListen(lineWidth))
    await obeyListen(args, around)
    return true
  }
  if (noun === undefined || (verb === undefined && !standsAlone(commands, noun))) {
    const some = noun === undefined ? commands : about(commands, noun, [listen.name])
    const help = helpOf(some, lineWidth, noun === undefined)
    if (isHelp) return written(help)
    throw new UsageError(`${noun === undefined ? 'which command' : `${noun}: which of these`}?\n\n${help}`)
  }
  about(commands, noun, [listen.name])
  const command = find(commands, noun, verb ?? '')
  if (isHelp) return written(helpOfCommand(command, lineWidth))
  const typed = sortArguments(args, knownOf(command))
  const request = requestOf(command, typed, read)
  const headers = { ...request.headers, ...keyOf(command.contract.auth, typed, environment) }
  const { faults } = command.contract
  const isFile = keywords(command.contract.reply).contentMediaType !== undefined
  if (isFile && width !== null) throw new UsageError(`the answer is a file: keep it, as in "${command.name} … > FILE"`)
  const names = columnsIn(typed)
  if (names) checkColumns(command.contract.reply, names)
  const reply = await send(addressOf(typed, environment), { ...request, headers }, around.files, isFile)
    .catch((error) => {
      throw faults && error instanceof CallError ? withFaults(error, faults, width) : error
    })
    .finally(() => around.files.tell(''))
  if (Buffer.isBuffer(reply)) return written(reply)
  const text = typed.options.has('json')
    ? JSON.stringify(reply, null, 2)
    : format(command.contract.reply, reply, width ?? Number.POSITIVE_INFINITY, names)
  write(`${text}\n`)
  return reply.working !== false
}

/** An error as the API prints one, for programs that read `--json`. */
const jsonOf = (error: UsageError | CallError): string =>
  JSON.stringify(
    { success: false, error_message: error.message.trimEnd(), ...(error instanceof CallError ? error.reply : {}) },
    null,
    2,
  )

/**
 * Runs one command line.
 * @returns the exit status: 0, 1 when the server refused, cannot be reached, or says that a connection or trunk does not work, 2 when the command line is wrong
 */
export const runCommand = async (
  args: readonly string[],
  contracts: readonly Contract[],
  around: Surroundings,
): Promise<number> => {
  try {
    return (await obey(args, commandsOf(contracts), around)) ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof CallError)) throw error
    around.complain(args.includes('--json') ? `${jsonOf(error)}\n` : `trunkline: ${error.message.trimEnd()}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}
