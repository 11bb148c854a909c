import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { API, type Project } from 'typescript/unstable/sync'
import { temporaryFolder } from '../../test/servers.ts'
import { type Mutation, mutated, mutationsOf } from './mutations.ts'

/** A copy of the repository in which files may be broken. */
export type Copy = {
  readonly folder: string
  mutations(file: string): Mutation[]
  /** Applies a mutation. @returns false when the compiler refuses the result: then the file is as before */
  apply(file: string, mutation: Mutation): boolean
  restore(file: string): void
  close(): void
}

/** A name that a removed statement used, or code after a negated condition: no error while the program runs. */
const harmless = new Set([6133, 6138, 6192, 6196, 6198, 6199, 7027])

/** Copies what git knows and what is new in `root`, without what it ignores; libraries and the built SDK are shared. */
export const makeCopy = (root: string): Copy => {
  const folder = temporaryFolder('trunkline-mutate-')
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  for (const path of listed.toString().split('\0')) {
    if (path === '' || !existsSync(join(root, path))) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
  const share = (path: string) => symlinkSync(join(root, path), join(folder, path))
  // Built once, and ignored by git: tests serve them to browsers.
  share('packages/voice-sdk/dist')
  share('console/dist')
  // Libraries are shared; packages of the workspace are those of the copy.
  const workspace = join(folder, 'node_modules/@trunkline')
  mkdirSync(workspace, { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@trunkline') share(join('node_modules', name))
  for (const name of readdirSync(join(folder, 'packages')))
    symlinkSync(join('../../packages', name), join(workspace, name))

  const api = new API({ cwd: folder })
  const config = join(folder, 'tsconfig.json')
  const at = (file: string) => join(folder, file)
  const project = (changed: string[] = []): Project => {
    const snapshot = api.updateSnapshot({ openProject: config, fileChanges: { changed } })
    const found = snapshot.getProject(config)
    if (!found) throw new Error('tsconfig.json could not be opened')
    return found
  }
  const originals = new Map<string, string>()
  const original = (file: string): string => {
    const known = originals.get(file) ?? readFileSync(at(file), 'utf8')
    originals.set(file, known)
    return known
  }
  const restore = (file: string) => writeFileSync(at(file), original(file))
  return {
    folder,
    mutations: (file) => {
      const source = project().program.getSourceFile(at(file))
      if (!source) throw new Error(`${file} is not part of tsconfig.json`)
      return mutationsOf(source, original(file))
    },
    apply: (file, mutation) => {
      writeFileSync(at(file), mutated(original(file), mutation))
      const { program } = project([at(file)])
      const faults = [...program.getSyntacticDiagnostics(at(file)), ...program.getSemanticDiagnostics(at(file))]
      const isRefused = faults.some(({ code }) => !harmless.has(code))
      if (isRefused) restore(file)
      return !isRefused
    },
    restore,
    close: () => api.close(),
  }
}
