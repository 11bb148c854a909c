import type { RequestOf } from '../api/client.ts'
import { PasswordField, TextareaField, TextField } from '../parts/text-fields.tsx'
import { words } from '../words/en/webhook-portal.ts'

// Fields of forms for the headers that an endpoint is called with, credentials among them.

type Body = NonNullable<RequestOf<'PUT /open/webhooks/:webhook_uuid'>['body']>
type HeadersRequest = Pick<Body, 'headers' | 'basic_auth'>
type Values = Readonly<Record<string, string>>

const lineOf = ([name, value]: readonly [string, string]): string => `${name}: ${value}`

/** Name and value of each line `Name: value`; a line without a colon is a name that the server refuses. */
const readLines = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((line) => {
        const [name = '', ...rest] = line.split(':')
        return [name.trim(), rest.join(':').trim()]
      }),
  )

/** Returns the fields of a request; none where the endpoint has no headers and gets none. @param stored by name, masked */
export const headersOf = (
  { headers = '', username = '', password = '' }: Values,
  stored: Values = {},
): HeadersRequest => {
  const listed = readLines(headers)
  const hasBasic = username !== '' || password !== ''
  if (!hasBasic && Object.keys(listed).length === 0) return Object.keys(stored).length === 0 ? {} : { headers: null }
  const others = Object.entries(listed).filter(([name]) => !hasBasic || name.toLowerCase() !== 'authorization')
  return { headers: Object.fromEntries(others), ...(hasBasic ? { basic_auth: { username, password } } : {}) }
}

/** @param stored by name, masked: a line that stays as it is keeps its value */
export const HeaderFields = ({ stored = {} }: { stored?: Values | undefined }) => (
  <details open={Object.keys(stored).length > 0}>
    <summary>{words.headers.title}</summary>
    <p class="soft">{words.headers.about}</p>
    <TextField name="username" label={words.headers.user} maxLength={255} />
    <PasswordField name="password" label={words.headers.password} maxLength={255} autocomplete="new-password" />
    <TextareaField
      name="headers"
      label={words.headers.lines}
      hint={Object.keys(stored).length > 0 ? words.headers.stored : words.headers.linesHint}
      initial={Object.entries(stored).map(lineOf).join('\n')}
      rows={3}
      code
    />
  </details>
)
