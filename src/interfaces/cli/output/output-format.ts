import { type ParsedArguments, UsageError } from '../input/parse-arguments.ts'

/** The output formats. */
export const outputFormats = ['table', 'json', 'csv'] as const

type OutputFormat = (typeof outputFormats)[number]

/** Returns the requested format. @throws UsageError for an unknown one */
export const outputFormatIn = ({ options }: ParsedArguments): OutputFormat => {
  const [text = options.has('json') ? 'json' : 'table'] = options.get('format') ?? []
  const known = outputFormats.find((one) => one === text)
  if (!known) throw new UsageError(`--format must be one of ${outputFormats.join(', ')}, not "${text}"`)
  if (options.has('json') && known !== 'json') throw new UsageError(`--json and --format ${known} exclude each other`)
  return known
}
