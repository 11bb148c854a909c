import { suggestion } from '../src/platform/lib/levenshtein.ts'
import { type Bench, helpOf, parseSettings, runBench, UsageError } from './bench.ts'
import { benches } from './list.ts'

/** Runs one bench with its options: `npm run bench -- sms --rounds 5`. */

const overview = (): string => {
  const width = Math.max(...benches.map(({ name }) => name.length))
  return [
    'npm run bench -- NAME [options]',
    '',
    ...benches.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
    '',
    'npm run bench -- NAME --help lists the options and figures of one. Stop other work on the machine first.',
  ].join('\n')
}

const find = (name: string): Bench => {
  const bench = benches.find((one) => one.name === name)
  if (bench) return bench
  const names = benches.map((one) => one.name)
  if (name === '') throw new UsageError(`A bench is missing. There are ${names.join(', ')}.`)
  throw new UsageError(`There is no bench ${name}${suggestion(name, names) || '.'} See --help.`)
}

const [name = '', ...args] = process.argv.slice(2)
try {
  if (name === '--help') console.log(overview())
  else {
    const bench = find(name)
    const settings = parseSettings(bench, args)
    if (settings.help) console.log(helpOf(bench))
    else await runBench(bench, settings)
  }
  // Some benches leave sockets or threads of their counterparts open.
  process.exit(0)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(2)
}
