import { lastRelease, makeWorktree, releases } from './releases.ts'

// node_modules/.bin/node scripts/releases/worktree.ts [VERSION or COMMIT]: checks an earlier version out, by default the
// last release, and prints its folder. Start it there with `npm start`, and remove it with `git worktree remove`.

const [given] = process.argv.slice(2)
const commit = releases().find(({ version }) => version === given)?.commit ?? given ?? lastRelease().commit
if (commit === undefined) throw new Error('docs/releases.json has no release; name a commit')
console.log(makeWorktree(commit).folder)
