import type { TSchema } from 'typebox'
import type { Contract } from '../../platform/http/endpoint.ts'
import { properties } from '../../platform/http/openapi.ts'
import { completion, completionOf } from './help/completion.ts'
import { helpOf, helpOfCommand, helpOfListen, helpOfLocal } from './help/help.ts'
import { type Request, requestOf } from './input/build-request.ts'
import {
  type Command,
  commandsAbout,
  commandsOf,
  findCommand,
  isWholeCommand,
  knownOptionsOf,
} from './input/command.ts'
import { keywords } from './input/option-field.ts'
import { type ParsedArguments, parseArguments, UsageError } from './input/parse-arguments.ts'
import type { ReadFile } from './input/read-value.ts'
import { withIds } from './input/resolve-names.ts'
import { findLocal, type LocalEnvironment, localNouns, runLocal } from './installation-commands.ts'
import { listen, listenOptions, listenTo, readListenOptions } from './listen/listen.ts'
import { makeCsv } from './output/csv-output.ts'
import { checkColumns, formatReply } from './output/format-reply.ts'
import { outputFormatIn } from './output/output-format.ts'
import { joinPages, pagesOf } from './transfer/list-pages.ts'
import { CallError, type FileAccess, sendRequest } from './transfer/send-request.ts'

/** The environment of a command. */
export type CommandEnvironment = {
  readonly environment: NodeJS.ProcessEnv
  readonly version: string
  /** Characters of a line of the terminal; null without one. */
  readonly width: number | null
  readonly read: ReadFile
  readonly files: FileAccess
  readonly write: (text: string | Buffer) => void
  readonly writeError: (text: string) => void
  /** Whether the output may be coloured. */
  readonly isColoured: boolean
  /** From its first call on, Ctrl-C aborts this signal instead of ending the program. */
  readonly untilStopped: () => AbortSignal
  /** The needs of commands on this machine's installation. */
  readonly local: LocalEnvironment['local']
}

/** The key of a command: the option, the setting and the header. */
const credentials = {
  operator: ['operator-key', 'TRUNKLINE_OPERATOR_KEY', 'x-operator-key'],
  account: ['api-key', 'TRUNKLINE_API_KEY', 'x-user-api-key'],
} as const

const keyOf = (
  auth: Contract['auth'],
  { options }: ParsedArguments,
  environment: NodeJS.ProcessEnv,
): Record<string, string> => {
  if (auth !== 'operator' && auth !== 'account') return {}
  const [option, variable, header] = credentials[auth]
  const key = options.get(option)?.at(-1) ?? environment[variable] ?? ''
  if (key === '') throw new UsageError(`there is no key: give --${option}, or set ${variable}`)
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError(`--${option} contains characters that no key has`)
  return { [header]: key }
}

/** The address of a platform of this machine, by the settings with which it starts. */
const localAddress = ({ TRUNKLINE_HOST, TRUNKLINE_PORT, TRUNKLINE_TLS_CERT }: NodeJS.ProcessEnv): string => {
  const host = /^(?:0\.0\.0\.0|::)?$/.test(TRUNKLINE_HOST ?? '') ? '127.0.0.1' : `${TRUNKLINE_HOST}`
  return `${TRUNKLINE_TLS_CERT ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${TRUNKLINE_PORT || 8080}`
}

const addressOf = ({ options }: ParsedArguments, environment: NodeJS.ProcessEnv): URL => {
  const text = options.get('url')?.at(-1) ?? (environment.TRUNKLINE_URL || localAddress(environment))
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new UsageError(`--url must be an address such as https://sms.example.com, not "${text}"`)
}

/** Adds the endpoint's details to the error message of a refusal. */
const withFaults = (error: CallError, faults: TSchema, width: number | null): CallError => {
  const names = properties(faults).map(([name]) => name)
  const details = Object.fromEntries(Object.entries(error.reply).filter(([name]) => names.includes(name)))
  if (Object.keys(details).length === 0) return error
  return new CallError(
    `${error.message}\n\n${formatReply(faults, details, width ?? Number.POSITIVE_INFINITY)}`,
    error.reply,
  )
}

/** Returns the columns that --columns names; null without it. */
const columnsIn = ({ options }: ParsedArguments): string[] | null => {
  const texts = options.get('columns')
  return texts ? texts.flatMap((text) => text.split(',')).map((text) => text.trim().replaceAll('-', '_')) : null
}

const runListen = async (args: readonly string[], context: CommandEnvironment): Promise<void> => {
  const { environment } = context
  const typed = parseArguments(args, listenOptions)
  const options = readListenOptions(typed)
  const access = { base: addressOf(typed, environment), headers: keyOf('account', typed, environment) }
  await listenTo(access, options, { ...context, stop: context.untilStopped() })
}

/** Reads each file once: the standard input cannot be read again. */
const readOnce = (read: ReadFile): ReadFile => {
  const texts = new Map<string, string>()
  return (path) => {
    const text = texts.get(path) ?? read(path)
    texts.set(path, text)
    return text
  }
}

/** Deprecated nouns, with the present ones. */
const formerNouns: ReadonlyMap<string, string> = new Map([['set-aside', 'dead-letters']])

/** Nouns of commands without a contract. */
const otherNouns = [listen.name, completion.name, ...localNouns]

/** @returns false when the command reports that the tested object does not work */
const runParsed = async (
  typedArgs: readonly string[],
  commands: readonly Command[],
  context: CommandEnvironment,
): Promise<boolean> => {
  const { environment, version, write, width } = context
  const read = readOnce(context.read)
  const first = parseArguments(typedArgs, null)
  const lineWidth = Math.min(width ?? 100, 120)
  const written = (text: string | Buffer): true => {
    write(text)
    return true
  }
  if (first.options.has('version')) return written(`${version}\n`)
  const isHelp = first.options.has('help')
  const [typedNoun = '', verb] = first.words
  const present = formerNouns.get(typedNoun)
  if (present !== undefined) context.writeError(`trunkline: "${typedNoun}" is deprecated: use "${present}"\n`)
  const args = present === undefined ? typedArgs : typedArgs.with(typedArgs.indexOf(typedNoun), present)
  const noun = present ?? first.words[0]
  if (noun === listen.name) {
    if (isHelp) return written(helpOfListen(lineWidth))
    await runListen(args, context)
    return true
  }
  const local = findLocal(noun, verb)
  if (local) return isHelp ? written(helpOfLocal(local, lineWidth)) : await runLocal(local, args, context)
  if (noun === completion.name && !isHelp) return written(completionOf(first, commands))
  if (noun === undefined || (verb === undefined && !isWholeCommand(commands, noun))) {
    const some = noun === undefined ? commands : commandsAbout(commands, noun, otherNouns)
    const help = helpOf(some, lineWidth, noun === undefined)
    if (isHelp) return written(help)
    throw new UsageError(`${noun === undefined ? 'which command' : `${noun}: which of these`}?\n\n${help}`)
  }
  commandsAbout(commands, noun, otherNouns)
  const command = findCommand(commands, noun, verb ?? '')
  if (isHelp) return written(helpOfCommand(command, lineWidth))
  const named = parseArguments(args, knownOptionsOf(command))
  const form = outputFormatIn(named)
  // Usage mistakes are reported before any request to the server.
  requestOf(command, named, read)
  const key = keyOf(command.contract.auth, named, environment)
  const base = addressOf(named, environment)
  const typed = await withIds(command, named, async (path) => {
    const found = await sendRequest(
      base,
      { method: 'GET', path, headers: key, body: null, file: null },
      context.files,
      false,
    )
    return Buffer.isBuffer(found) ? {} : found
  })
  const request = requestOf(command, typed, read)
  const headers = { ...request.headers, ...key }
  const { faults } = command.contract
  const isFile = keywords(command.contract.reply).contentMediaType !== undefined
  if (isFile && width !== null)
    throw new UsageError(`the reply is a file: redirect it, as in "${command.name} … > FILE"`)
  const names = columnsIn(typed)
  if (names) checkColumns(command.contract.reply, names)
  const csv = form === 'csv' ? makeCsv(command.name, command.contract.reply, names) : null
  const exchange = (message: Request) =>
    sendRequest(base, message, context.files, isFile)
      .catch((error) => {
        throw faults && error instanceof CallError ? withFaults(error, faults, width) : error
      })
      .finally(() => context.files.report(''))
  const ask = async (message: Request) => {
    const answer = await exchange(message)
    return Buffer.isBuffer(answer) ? {} : answer
  }
  const isAll = typed.options.has('all')
  const pages = isAll ? pagesOf(command, { ...request, headers }, typed, ask) : null
  if (csv) {
    // On a terminal, foreign text must not move the cursor.
    const plain = (text: string) => (width === null ? text : text.replace(/[^\P{Cc}\r\n]/gu, ''))
    const first = pages ? null : await ask({ ...request, headers })
    write(csv.head)
    if (first) write(plain(csv.lines(first)))
    for await (const page of pages ?? []) write(plain(csv.lines(page)))
    return true
  }
  const reply = pages ? await joinPages(command, pages) : await exchange({ ...request, headers })
  if (Buffer.isBuffer(reply)) return written(reply)
  const text =
    form === 'json'
      ? JSON.stringify(reply, null, 2)
      : formatReply(command.contract.reply, reply, width ?? Number.POSITIVE_INFINITY, names)
  write(`${text}\n`)
  return reply.working !== false
}

/** Returns whether programs read the output. */
const isJson = (args: readonly string[]): boolean =>
  args.includes('--json') || args.includes('--format=json') || args[args.indexOf('--format') + 1] === 'json'

/** Formats an error like the API does, for programs that read `--json`. */
const jsonOf = (error: UsageError | CallError): string =>
  JSON.stringify(
    { success: false, error_message: error.message.trimEnd(), ...(error instanceof CallError ? error.reply : {}) },
    null,
    2,
  )

/**
 * Runs one command line.
 * @returns the exit status: 0; 1 when the server refused, is unreachable, or reports that a connection or trunk does
 * not work; 2 when the command line is wrong
 */
export const runCommand = async (
  args: readonly string[],
  contracts: readonly Contract[],
  context: CommandEnvironment,
): Promise<number> => {
  try {
    return (await runParsed(args, commandsOf(contracts), context)) ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof CallError)) throw error
    context.writeError(isJson(args) ? `${jsonOf(error)}\n` : `trunkline: ${error.message.trimEnd()}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}
