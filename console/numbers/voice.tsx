import { useState } from 'preact/hooks'
import type { ReplyOf, RequestOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { SelectField } from '../parts/choice-fields.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { paths } from '../paths.ts'
import type { Person } from '../shell/users.ts'
import { words } from '../words/en/numbers.ts'
import type { VirtualNumber } from './number-state.tsx'

type Voice = VirtualNumber['voice']
type Application = ReplyOf<'GET /open/voip/applications'>['applications'][number]
type VoiceChange = NonNullable<
  NonNullable<RequestOf<'PUT /open/voip/virtual-numbers/:virtual_number_uuid'>['body']>['voice']
>

/** The applications of the account; undefined while they are read, and for those who may not list them. */
export const useApplications = (): readonly Application[] | undefined =>
  useQuery('GET /open/voip/applications', { enabled: may('develop') }).data?.applications

/** The target of calls to a number in words: a person, a program, or no one. */
export const voiceText = (
  { kind, user_uuid, application_uuid, url = '' }: Voice,
  users: readonly Person[] | undefined,
  applications: readonly Application[] | undefined,
): string => {
  if (kind === 'user') return users?.find(({ uuid }) => uuid === user_uuid)?.name ?? words.ringsUnknown
  if (kind === 'application')
    return applications?.find(({ uuid }) => uuid === application_uuid)?.name ?? words.voice.unknown
  return kind === 'url' ? (URL.parse(url)?.host ?? url) : words.ringsNoOne
}

/** The value of a choice: the id of a user or an application, `url`, or empty for no one. */
const choiceOf = ({ kind, user_uuid = '', application_uuid = '' }: Voice): string =>
  ({ none: '', user: user_uuid, application: application_uuid, url: 'url' })[kind]

const optionsOf = (all: readonly Person[] | undefined, current: string | undefined, unknown: string) => {
  const known = (all ?? []).map(({ uuid, name }) => ({ value: uuid, text: name }))
  const isHidden = current !== undefined && !known.some(({ value }) => value === current)
  return isHidden ? [...known, { value: current, text: unknown }] : known
}

/** The change of `voice` by the values of the form; undefined if it is as it was. */
export const voiceChange = (voice: Voice, values: Readonly<Record<string, string>>): VoiceChange | undefined => {
  const chosen = values.voice ?? ''
  const [url, fallback_url] = [values['voice/url'] ?? '', values['voice/fallback_url'] || null]
  if (chosen === choiceOf(voice) && (chosen !== 'url' || (url === voice.url && fallback_url === voice.fallback_url)))
    return undefined
  if (chosen === '') return { kind: 'none' }
  if (chosen === 'url') return { kind: 'url', url, fallback_url, ...(voice.method ? { method: voice.method } : {}) }
  return chosen.startsWith('APP')
    ? { kind: 'application', application_uuid: chosen }
    : { kind: 'user', user_uuid: chosen }
}

type FieldProps = { readonly voice: Voice; readonly users: readonly Person[] | undefined }

/** Chooses what calls to a number do. */
export const VoiceFields = ({ voice, users }: FieldProps) => {
  const applications = useApplications()
  const [chosen, setChosen] = useState(choiceOf(voice))
  const mayRun = may('develop')
  const others = [
    { value: '', text: words.ringsNoOne },
    { value: 'url', text: words.voice.address },
  ]
  const groups = [
    { label: words.voice.users, options: optionsOf(users, voice.user_uuid, words.ringsUnknown) },
    { label: words.voice.applications, options: optionsOf(applications, voice.application_uuid, words.voice.unknown) },
  ].filter(({ options }) => options.length > 0)
  return (
    <>
      <SelectField
        name="voice"
        label={words.voice.label}
        hint={
          <>
            {words.voice.hint} {mayRun && <a href={paths.applications()}>{words.voice.toApplications}</a>}
          </>
        }
        value={chosen}
        onChange={setChosen}
        options={others}
        groups={groups}
      />
      {chosen === 'url' && (
        <>
          <TextField
            name="voice/url"
            label={words.voice.url}
            hint={words.voice.urlHint}
            type="url"
            initial={voice.url}
            maxLength={2_048}
            required
          />
          <TextField
            name="voice/fallback_url"
            label={words.voice.fallback}
            hint={words.voice.fallbackHint}
            type="url"
            initial={voice.fallback_url ?? ''}
            maxLength={2_048}
            optional
          />
        </>
      )}
    </>
  )
}
