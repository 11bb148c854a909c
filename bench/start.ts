import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { lastRelease, makeWorktree } from '../scripts/releases/releases.ts'
import { startPlatform } from '../test/platform.ts'
import { benchRun } from './bench.ts'
import { memory } from './usage.ts'

// Warm starts of this version and of an earlier one in turn, and the memory of each at rest.

const run = benchRun()

/** Milliseconds after a start, in which it ends what it left to do. */
const restMs = 10_000

const worktree = makeWorktree(run.word('commit') || lastRelease().commit, true)
const homes = mkdtempSync(join(tmpdir(), 'trunkline-bench-start-'))
try {
  const variants = [
    { key: 'ours', tree: undefined },
    { key: 'former', tree: worktree.folder },
  ] as const
  const measure = async ({ key, tree }: (typeof variants)[number]) => {
    const began = performance.now()
    const platform = await startPlatform(join(homes, key), { TRUNKLINE_SANDBOX: run.word('sandbox') }, tree)
    const start = performance.now() - began
    await setTimeout(restMs)
    const figures = { start, memory: memory(platform.pid) }
    await platform.end()
    return figures
  }
  // The first start makes the database.
  for (const variant of variants) {
    mkdirSync(join(homes, variant.key))
    await measure(variant)
  }
  for (let round = 0; round < run.rounds; round++) {
    const [ours, former] = [await measure(variants[0]), await measure(variants[1])]
    console.error(`round ${round + 1}:`, ours, former)
    run.record({
      start: ours.start,
      memory: ours.memory,
      'former.start': former.start,
      'former.memory': former.memory,
      'ratio.start': ours.start / former.start,
      'ratio.memory': ours.memory / former.memory,
    })
  }
} finally {
  worktree.remove()
  rmSync(homes, { recursive: true, force: true })
}
