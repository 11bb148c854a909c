import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** Reads the options of a script. With `--help` it prints the text and ends. */
export const readOptions = <const T extends Options>(help: string, options: T) => {
  const { values } = parseArgs({ options: { ...options, help: { type: 'boolean', default: false } } as const })
  if (process.argv.includes('--help')) {
    console.log(help)
    process.exit(0)
  }
  return values
}
