import { spawnSync } from 'node:child_process'

/** Returns the seed of random tests: the same in every run of a commit, another one for each commit; 1 without Git. */
export const seedOfCommit = (): number => {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' })
  return Number.parseInt(stdout?.slice(0, 7) || '1', 16)
}
