import type { TSchema } from 'typebox'
import type { Contract } from './endpoint.ts'

// A plain object: the command line starts without loading the schema library.
const format = {
  type: 'string',
  enum: ['json', 'csv'],
  description: 'csv: all rows of the filters as CSV, without a limit; paging parameters have no effect. Default: json',
}

/** Returns the query schema of an endpoint, with `format` if the endpoint has a list for CSV. */
export const querySchemaOf = ({
  csv,
  csvOf,
  query,
}: Pick<Contract, 'csv' | 'csvOf' | 'query'>): TSchema | undefined => {
  if (csv === undefined || csvOf !== undefined) return query
  const { properties = {} }: { properties?: object } = Object(query)
  return { type: 'object', ...query, properties: { ...properties, format } }
}
