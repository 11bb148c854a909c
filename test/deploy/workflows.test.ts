import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type * as Parser from '@actions/workflow-parser'
import { buildSync } from 'esbuild'
import { startBy } from '../../scripts/releases/started-platform.ts'
import { temporaryFolder } from '../servers.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, '.github/workflows')
const { scripts, version }: { scripts: Record<string, string>; version: string } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)

/** GitHub's own parser is for bundlers: it imports JSON as Node does not. */
const loadParser = async (): Promise<typeof Parser> => {
  const file = join(temporaryFolder(), 'parser.cjs')
  buildSync({
    entryPoints: ['@actions/workflow-parser'],
    absWorkingDir: root,
    outfile: file,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    logLevel: 'error',
  })
  return await import(file)
}
const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await loadParser()

/** Reads a workflow by the schema of GitHub. */
const workflowOf = async (name: string, content: string) => {
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter())
  assert.deepEqual(context.errors.getErrors(), [], name)
  assert.ok(value, name)
  return await convertWorkflowTemplate(context, value)
}

const workflows = await Promise.all(
  globSync('*.yml', { cwd: folder })
    .sort()
    .map(async (name) => ({ name, ...(await workflowOf(name, readFileSync(join(folder, name), 'utf8'))) })),
)

/** A command, without the `format` that the parser makes of its expressions. */
const plain = (text: string): string => text.replace(/^\$\{\{ format\('(.*)', .*\) \}\}$/, '$1')

/** The commands of all steps. */
const commands = workflows.flatMap(({ name, jobs }) =>
  jobs.flatMap((job) =>
    job.type === 'job'
      ? job.steps.flatMap((step) => ('run' in step ? [{ name, command: plain(step.run.toDisplayString()) }] : []))
      : [],
  ),
)

test('the workflows follow the schema of GitHub', async () => {
  assert.deepEqual(
    workflows.map(({ name }) => name),
    ['release.yml', 'systems.yml', 'test.yml'],
  )
  for (const { name, errors } of workflows) assert.deepEqual(errors ?? [], [], name)
  await assert.rejects(workflowOf('wrong.yml', 'on: push\njobs:\n  a:\n    runs-on: x\n    stepz: []\n'))
})

test('each step of a workflow runs a script of the repository', () => {
  assert.ok(commands.length >= 5)
  for (const { name, command } of commands) {
    const [, script] = /^npm run ([\w-]+)(?: |$)/.exec(command) ?? []
    const known = script === undefined ? command.startsWith('.ci/run') : Object.hasOwn(scripts, script)
    assert.ok(known && !command.includes('\n'), `${name}: ${command}`)
  }
})

test('no command contains what a stranger can write: a tag or a title is passed by the environment', () => {
  for (const { name } of workflows)
    for (const [line] of readFileSync(join(folder, name), 'utf8').matchAll(/^\s*- run: .*\$\{\{.*$/gm))
      assert.match(line, /\$\{\{ matrix\.\w+ \}\}/, `${name}: ${line}`)
})

test('every script of package.json is for a POSIX shell as for cmd.exe, and leaves no shell between npm and the program', () => {
  const ready = 'node scripts/ready\\.mjs(?: --dev)? && exec '
  const known = new RegExp(`^(?:(?:${ready})?node bin/[\\w-]+\\.mjs|biome)(?: [\\w./=-]+)*$`)
  for (const [name, command] of Object.entries(scripts))
    assert.match(command.replace(' --disable-warning=ExperimentalWarning', ''), known, name)
  assert.match(readFileSync(join(root, 'exec.cmd'), 'utf8'), /^@%\*$/m)
})

test('a signal to npm reaches the platform, and npm ends after it', async () => {
  const env = { TRUNKLINE_HOME: temporaryFolder() }
  const platform = await startBy('npm start', root, env)
  const { pid }: { pid: number } = JSON.parse(readFileSync(join(env.TRUNKLINE_HOME, 'ready.json'), 'utf8'))
  await platform.stop()
  assert.throws(() => process.kill(pid, 0), /ESRCH/)
})

const run = (script: string, ...args: string[]) =>
  spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'scripts', script), ...args], {
    encoding: 'utf8',
    timeout: 280_000,
  })

test('a checkout starts, sends its first SMS, stops, and has the message after the next start', () => {
  const { status, stdout, stderr } = run('first-sms.ts')
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /was delivered\n.*stopped\n.*the message is there\n$/s)
})

test('a release refuses the tag of another version', () => {
  const { status, stderr } = run('release.ts', '--dry-run', '--tag', 'v99.0.0')
  assert.equal(status, 2)
  assert.match(stderr, /must be v\d+\.\d+\.\d+, not v99\.0\.0/)
})

test('the packages of a release are published as they were made', () => {
  const out = temporaryFolder()
  const bytes = readFileSync(join(root, 'package.json'))
  writeFileSync(join(out, 'changed.tgz'), 'other bytes')
  writeFileSync(join(out, 'SHA256SUMS'), `${createHash('sha256').update(bytes).digest('hex')}  changed.tgz\n`)
  const { status, stderr } = run('publish-packages.ts', '--from', out, '--dry-run')
  assert.equal(status, 1)
  assert.match(stderr, /changed\.tgz is not the file/)
})

test('the image is pushed with the tags of its version', () => {
  const { status, stdout } = run('publish-image.ts', '--dry-run', '--to', 'registry.example/some/trunkline')
  assert.equal(status, 0)
  const pushed = [...stdout.matchAll(/^buildah push .*:(\S+)$/gm)].map(([, tag]) => tag)
  assert.deepEqual(pushed, [version, version.replace(/\.\d+$/, ''), 'latest'])
  for (const wrong of [[], ['--to', 'trunkline'], ['--to', 'registry.example/Trunk line']])
    assert.equal(run('publish-image.ts', '--dry-run', ...wrong).status, 2)
})
