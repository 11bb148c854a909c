import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import type { Config } from '../../config.ts'
import { effectOf, strongest } from '../../platform/db/lock-modes.ts'
import type { FinishedMigration } from '../../platform/db/migrate.ts'
import { type KnownOptions, type ParsedArguments, parseArguments, UsageError } from './input/parse-arguments.ts'
import { CallError } from './transfer/send-request.ts'

// Commands that work on the installation of this machine, not on a server's interface.

/** The environment of a local command. */
export type LocalEnvironment = {
  readonly environment: NodeJS.ProcessEnv
  readonly version: string
  readonly read: (path: string) => string
  readonly write: (text: string) => void
  readonly files: { readonly report: (line: string) => void }
  readonly untilStopped: () => AbortSignal
  readonly local: {
    /** Reads the settings as the server does. @throws Error */
    readonly settings: () => Config
    /** Asks the user without echoing the input; null without a terminal. */
    readonly promptHidden: ((question: string) => Promise<string>) | null
    /** The standard output, for binary output; null where it is a terminal. */
    readonly output: Writable | null
  }
}

type Run = (typed: ParsedArguments, context: LocalEnvironment) => Promise<boolean>

export type LocalCommand = {
  /** The name, such as `backup verify`. */
  readonly name: string
  readonly words: string
  readonly summary: string
  readonly options: readonly (readonly [string, string | null, string])[]
  readonly run: Run
}

const passphraseVariable = 'TRUNKLINE_BACKUP_PASSPHRASE'

const passphraseFrom = async (
  { options }: ParsedArguments,
  context: LocalEnvironment,
  isNew: boolean,
): Promise<string> => {
  const file = options.get('passphrase-file')?.at(-1)
  if (file !== undefined) return context.read(file).split(/\r?\n/, 1).join('')
  const passphrase = context.environment[passphraseVariable]
  if (passphrase) return passphrase
  const { promptHidden } = context.local
  if (!promptHidden)
    throw new UsageError(
      `there is no passphrase: set ${passphraseVariable}, give --passphrase-file FILE, or use a terminal`,
    )
  const typed = await promptHidden(isNew ? 'New passphrase of the backup: ' : 'Passphrase of the backup: ')
  if (isNew && (await promptHidden('Repeat it: ')) !== typed) throw new UsageError('the two passphrases differ')
  return typed
}

const fileOf = ({ words }: ParsedArguments, before: number): string => {
  const file = words[before]
  if (file === undefined) throw new UsageError('which FILE?')
  if (words.length > before + 1) throw new UsageError(`"${words[before + 1]}" is an unexpected argument`)
  return file
}

const number = (value: number): string => value.toLocaleString('en')

const plural = (value: number, noun: string): string => `${number(value)} ${noun}${value === 1 ? '' : 's'}`

const loadBackups = async () => (await import('../../domains/backup/ops.ts')).backups

const runControlOf = ({ untilStopped, files }: LocalEnvironment) => ({ signal: untilStopped(), report: files.report })

type BackupContents = Awaited<ReturnType<Awaited<ReturnType<typeof loadBackups>>['create']>>

const describeFiles = ({ manifest, summary }: BackupContents): string[] => [
  ...(manifest.bucket === null
    ? []
    : [`Files of messages are in ${manifest.bucket}, and not in the backup: see docs/backup.md.`]),
  ...(summary.deleted.length > 0
    ? [`${plural(summary.deleted.length, 'file')} deleted while the backup was made.`]
    : []),
  ...(summary.missing.length > 0
    ? [
        `Warning: the database names ${plural(summary.missing.length, 'file')} that the store does not have, such as ${summary.missing[0]}.`,
      ]
    : []),
]

const describe = ({ manifest, summary }: BackupContents): string[] => {
  const rows = Object.values(summary.rows).reduce((sum, one) => sum + one, 0)
  return [
    `Made at ${manifest.created_at} by Trunkline ${manifest.version} from PostgreSQL ${manifest.postgresql}, schema ${manifest.migrations.at(-1)?.name}.`,
    `${plural(manifest.money.accounts, 'account')}, balances of USD ${manifest.money.balances}, ${plural(rows, 'row')} of ${plural(manifest.tables.length, 'table')}, ${plural(summary.files, 'file')} of ${number(summary.bytes)} bytes, the master key.`,
    ...describeFiles({ manifest, summary }),
  ]
}

const printResult = (
  { write }: LocalEnvironment,
  { options }: ParsedArguments,
  value: object,
  lines: readonly string[],
): void => write(options.has('json') ? `${JSON.stringify(value, null, 2)}\n` : `${lines.join('\n')}\n`)

/** Omits the names of tables and columns, which do not help a reader. */
const presentBackup = ({
  manifest: { tables, migrations, ...manifest },
  summary: { sequences, ...summary },
}: BackupContents) => ({
  ...{ ...manifest, schema: migrations.at(-1)?.name },
  ...summary,
})

const create: Run = async (typed, context) => {
  const file = fileOf(typed, 1)
  const settings = context.local.settings()
  const { create } = await loadBackups()
  const backup = await create(
    settings,
    file,
    await passphraseFrom(typed, context, true),
    context.version,
    runControlOf(context),
  )
  context.files.report('')
  printResult(context, typed, { success: true, file: resolve(file), ...presentBackup(backup) }, [
    `${resolve(file)} is written.`,
    ...describe(backup),
    'Store the passphrase apart from the file: without it, the file cannot be opened. Now test it: backup verify FILE',
  ])
  return true
}

const show: Run = async (typed, context) => {
  const { show } = await loadBackups()
  const backup = await show(fileOf(typed, 2), await passphraseFrom(typed, context, false), runControlOf(context))
  printResult(context, typed, { success: true, ...presentBackup(backup) }, [...describe(backup), 'All digests match.'])
  return true
}

const tar: Run = async (typed, context) => {
  const file = fileOf(typed, 2)
  const { output } = context.local
  if (!output) throw new UsageError('the tar file is not for a terminal: use backup tar FILE | tar -x, or > FILE.tar')
  const { tar } = await loadBackups()
  await tar(file, await passphraseFrom(typed, context, false), output, runControlOf(context))
  return true
}

const verify: Run = async (typed, context) => {
  const { verify } = await loadBackups()
  const file = fileOf(typed, 2)
  const passphrase = await passphraseFrom(typed, context, false)
  const verdict = await verify(context.local.settings(), file, passphrase, runControlOf(context))
  context.files.report('')
  const isSound = verdict.checks.every(({ faults }) => faults.length === 0)
  printResult(context, typed, { success: isSound, ...presentBackup(verdict), checks: verdict.checks }, [
    ...describe(verdict),
    ...verdict.checks.flatMap(({ what, found, faults }) => [
      `${faults.length === 0 ? 'ok    ' : 'FAULT '} ${what}: ${found}`,
      ...faults.map((fault) => `         ${fault}`),
    ]),
    isSound ? 'The backup is sound.' : 'The backup is NOT sound.',
  ])
  return isSound
}

const restore: Run = async (typed, context) => {
  const file = fileOf(typed, 1)
  const settings = context.local.settings()
  const { restore } = await loadBackups()
  const passphrase = await passphraseFrom(typed, context, false)
  const isReplacing = typed.options.get('replace')?.at(-1) === 'true'
  const done = await restore(settings, file, passphrase, isReplacing, runControlOf(context))
  context.files.report('')
  if (done.finished) {
    printResult(context, typed, { success: true, finished: true }, [
      'An earlier restore that was interrupted is finished. The file was not read.',
    ])
    return true
  }
  printResult(
    context,
    typed,
    {
      success: true,
      aside: done.aside,
      files_aside: done.filesAside,
      is_superuser: done.isSuperuser,
      ...presentBackup(done),
    },
    [
      `Restored into ${settings.databaseUrl === null ? resolve(settings.home) : `the database of DATABASE_URL, and ${resolve(settings.home)}`}.`,
      ...describe(done),
      ...(done.aside === null ? [] : [`The previous installation is in ${done.aside}.`]),
      ...(done.filesAside === null ? [] : [`Files with different content are in ${done.filesAside}.`]),
      ...(done.isSuperuser
        ? [
            'Warning: the role of DATABASE_URL is a superuser. The platform needs the owner of its database: see docs/backup.md.',
          ]
        : []),
      'Messages that were queued at that time are sent at the start: see docs/backup.md.',
    ],
  )
  return true
}

const rotate: Run = async (typed, context) => {
  if (typed.words.length > 2) throw new UsageError(`"${typed.words[2]}" is an unexpected argument`)
  const { home, databaseUrl, masterKey } = context.local.settings()
  const { rotateMaster } = await import('../../domains/keys/ops.ts')
  const nextFile = typed.options.get('new-key-file')?.at(-1) ?? null
  const { values, fingerprint, file, before } = await rotateMaster({ home, databaseUrl, given: masterKey, nextFile })
  printResult(context, typed, { success: true, values, fingerprint, file, before }, [
    `${plural(values, 'value')} sealed under the new master key, whose fingerprint is ${fingerprint}.`,
    before === null
      ? `Set TRUNKLINE_MASTER_KEY to the content of ${file} for every process, then start.`
      : `The new key is ${file}. The previous key is ${before}, for older copies of the database.`,
    'Files that were encrypted before stay readable. Links to files and SIP credentials end, voice tokens do not: see docs/operating/encryption.md.',
  ])
  return true
}

const exportKey: Run = async (typed, context) => {
  const file = fileOf(typed, 2)
  const { home, masterKey } = context.local.settings()
  const { exportMaster } = await import('../../domains/keys/ops.ts')
  const { fingerprint } = await exportMaster({ home, given: masterKey }, file)
  printResult(context, typed, { success: true, fingerprint, file: resolve(file) }, [
    `${resolve(file)} holds the master key, whose fingerprint is ${fingerprint}, as a value of TRUNKLINE_MASTER_KEY.`,
    'Set it for one process after the other: those with the key file and those with the setting run together.',
    `Once all have started with it, store the value apart from the database, and remove ${file} and keys/master.`,
  ])
  return true
}

const rebuildInbox: Run = async (typed, context) => {
  if (typed.words.length > 2) throw new UsageError(`"${typed.words[2]}" is an unexpected argument`)
  const { rebuildInbox } = await import('../../domains/inbox/ops.ts')
  const account = typed.options.get('account')?.at(-1) ?? null
  const done = await rebuildInbox(context.local.settings(), account, runControlOf(context))
  context.files.report('')
  printResult(context, typed, { success: true, ...done }, [
    `${plural(done.conversations, 'conversation')} of ${plural(done.accounts, 'account')} have all their messages and calls.`,
  ])
  return true
}

const requireNoWords = ({ words }: ParsedArguments, before: number): void => {
  if (words.length > before) throw new UsageError(`"${words[before]}" is an unexpected argument`)
}

const secondsOf = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`

const migrateSchema: Run = async (typed, context) => {
  requireNoWords(typed, 1)
  const settings = context.local.settings()
  const { upgrades } = await import('../../domains/installation/ops.ts')
  const say = (line: string): void => {
    if (!typed.options.has('json')) context.write(`${line}\n`)
  }
  const done: FinishedMigration[] = []
  await upgrades.migrate(settings, {
    signal: context.untilStopped(),
    report: say,
    onApplied: (finished) => {
      done.push(finished)
      say(`${finished.name}: ${secondsOf(finished.milliseconds)}`)
    },
  })
  const migrations = done.map(({ name, milliseconds }) => ({ name, milliseconds }))
  const end = done.length === 0 ? 'no migration was pending' : `${plural(done.length, 'migration')} applied`
  printResult(context, typed, { success: true, migrations }, [`The database is up to date: ${end}.`])
  return true
}

const describeRehearsed = ({ name, milliseconds, compatibleSince, locks }: FinishedMigration): string[] => [
  `${name}: ${secondsOf(milliseconds)}, ${compatibleSince === null ? 'processes of earlier versions must be stopped' : `processes that know ${compatibleSince} go on`}`,
  ...strongest(locks).map(({ table, mode }) => `  ${table}: ${mode}, ${effectOf(mode)}`),
]

const rehearse: Run = async (typed, context) => {
  requireNoWords(typed, 1)
  const settings = context.local.settings()
  const { rehearse } = await loadBackups()
  const { bytes, rows, migrations, objections } = await rehearse(settings, runControlOf(context))
  context.files.report('')
  const found = migrations.map(({ name, milliseconds, compatibleSince, locks }) => ({
    ...{ name, milliseconds, compatible_since: compatibleSince, locks: strongest(locks) },
  }))
  printResult(context, typed, { success: true, bytes, rows, migrations: found, objections }, [
    migrations.length === 0
      ? 'No migration is pending.'
      : `${plural(migrations.length, 'migration')} on a copy of ${plural(rows, 'row')} (${number(bytes)} bytes), which is removed again:`,
    ...migrations.flatMap(describeRehearsed),
    ...objections.map(
      ({ process, migration }) =>
        `Warning: ${process} cannot work with the migration ${migration}: stop it before the upgrade.`,
    ),
  ])
  return true
}

const passphraseOption = [
  'passphrase-file',
  'FILE',
  `File with the passphrase; else ${passphraseVariable}, else a prompt asks for it`,
] as const

export const locals: readonly LocalCommand[] = [
  {
    name: 'backup',
    words: 'FILE',
    summary: 'Write a backup of this installation to one encrypted file, while the platform runs or not',
    options: [passphraseOption],
    run: create,
  },
  {
    name: 'backup verify',
    words: 'FILE',
    summary: 'Restore a backup to a temporary place, and compare money, secrets and files',
    options: [passphraseOption],
    run: verify,
  },
  {
    name: 'backup show',
    words: 'FILE',
    summary: 'Show the content of a backup, and verify its digests',
    options: [passphraseOption],
    run: show,
  },
  {
    name: 'backup tar',
    words: 'FILE',
    summary: 'Write a backup to the standard output as a plain tar file, for other programs',
    options: [passphraseOption],
    run: tar,
  },
  {
    name: 'restore',
    words: 'FILE',
    summary: 'Restore a backup into TRUNKLINE_HOME, and DATABASE_URL if it is set',
    options: [
      passphraseOption,
      ['replace', null, 'Move an existing installation aside; without it, the restore is refused'],
    ],
    run: restore,
  },
  {
    name: 'master-key rotate',
    words: '',
    summary:
      'Seal all secrets again under a new master key, in one transaction. Every process of the platform must be stopped. The new key is written to keys/master in TRUNKLINE_HOME; with TRUNKLINE_MASTER_KEY it comes from a file, and you set it',
    options: [
      [
        'new-key-file',
        'FILE',
        'If TRUNKLINE_MASTER_KEY is set: the file with its next value. If FILE does not exist, a new key is written to it; keep the file',
      ],
    ],
    run: rotate,
  },
  {
    name: 'migrate',
    words: '',
    summary:
      'Apply the pending migrations to the database of DATABASE_URL, or to the one in TRUNKLINE_HOME, and end. It is refused while a process runs that cannot work with one of them; the error names the process',
    options: [],
    run: migrateSchema,
  },
  {
    name: 'rehearse',
    words: '',
    summary:
      'Apply the pending migrations to a copy of the database, while the platform runs or not, and show the time and the locks of each. The copy needs twice the room of the database in the temporary folder (TMPDIR), and is removed again',
    options: [],
    run: rehearse,
  },
  {
    name: 'master-key export',
    words: 'FILE',
    summary:
      'Write the master key of keys/master in TRUNKLINE_HOME to a new FILE as a value of TRUNKLINE_MASTER_KEY, while the platform runs or not',
    options: [],
    run: exportKey,
  },
  {
    name: 'inbox rebuild',
    words: '',
    summary:
      'Take all messages and calls into the shared inbox again, and count its conversations, while the platform runs or not. Conversations keep their state. The progress is shown on a terminal',
    options: [['account', 'ACC…', 'Only this account. Default: all']],
    run: rebuildInbox,
  },
]

/** Returns the local command with these words; null when there is none. */
export const findLocal = (noun: string | undefined, verb: string | undefined): LocalCommand | null =>
  locals.find(({ name }) => name === `${noun} ${verb}`) ?? locals.find(({ name }) => name === noun) ?? null

/** Nouns of local commands, for suggestions. */
export const localNouns: readonly string[] = [...new Set(locals.map(({ name }) => name.split(' ')[0] ?? ''))]

/** The options, for parsing arguments. */
export const knownOptionsOfLocal = ({ options }: LocalCommand): KnownOptions =>
  new Map(options.map(([name, value]) => [name, value === null ? 'boolean' : 'value']))

/** @returns false when it found a fault @throws UsageError, CallError */
export const runLocal = async (
  local: LocalCommand,
  args: readonly string[],
  context: LocalEnvironment,
): Promise<boolean> => {
  const typed = parseArguments(args, knownOptionsOfLocal(local))
  try {
    return await local.run(typed, context)
  } catch (error) {
    if (error instanceof UsageError || context.environment.TRUNKLINE_LOG === 'debug') throw error
    context.files.report('')
    const explained = await explain(error, context)
    throw new CallError(explained instanceof Error ? explained.message : String(explained), {})
  }
}

/** Names DATABASE_URL and the fix in errors of its database. */
const explain = async (error: unknown, { local }: LocalEnvironment): Promise<unknown> => {
  const { isUnavailable } = await import('../../platform/db/unavailability.ts')
  if (!isUnavailable(error)) return error
  const { databaseUrl } = local.settings()
  const { explainDatabaseFault } = await import('../../platform/db/explain-fault.ts')
  return databaseUrl === null ? error : explainDatabaseFault(error, databaseUrl, 'DATABASE_URL')
}
