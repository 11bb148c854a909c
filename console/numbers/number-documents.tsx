import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { type ApiError, asApiError } from '../api/errors.ts'
import { download, uploadFile } from '../api/files.ts'
import { useAct, useQuery } from '../api/query.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { FileField } from '../parts/file-field.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { TextareaField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import { numberEvents, type Requirement, type VirtualNumber } from './number-state.tsx'

type Registration = ReplyOf<'GET /open/voip/virtual-numbers/:virtual_number_uuid/requirements'>['data']
type Answer = Registration['given'][number]

const accepted = '.pdf,.jpg,.jpeg,.png'
/** Bytes: the limit of the endpoint. */
const largestFile = 16 * 1024 * 1024

const fieldOf = ({ id }: { id: number }): string => `requirement_${id}`

/** The source is a name, with an address behind it. */
const Source = ({ of: { source, source_date } }: { of: Requirement }) => {
  const address = /https?:\/\/[^\s,;]+/.exec(source)?.[0]
  const text = words.documents.source(format.day(source_date))
  if (address === undefined) return <span class="soft">{`${text}: ${source}`}</span>
  return (
    <a href={address} target="_blank" rel="noreferrer" title={source}>
      {text}
    </a>
  )
}

/** A requirement in words: who demands it, and what it accepts. */
export const RequirementText = ({ of }: { of: Requirement }) => (
  <div class="requirement">
    <strong>{words.documents.kinds[of.kind]}</strong>
    <span>{of.description}</span>
    {of.documents.length > 0 && (
      <span class="soft">{words.documents.accepted(format.list(of.documents, 'disjunction'))}</span>
    )}
    <Source of={of} />
  </div>
)

const AnswerValue = ({ answer }: { answer: Answer | undefined }) => {
  if (!answer) return null
  const document = answer.document_uuid
  if (document === undefined) return <span dir="auto">{answer.value}</span>
  const open = () => {
    download(
      'GET /open/numbers/documents/:document_uuid/content',
      { params: { document_uuid: document } },
      document,
    ).catch((error: Error) => showToast(error.message, 'bad'))
  }
  return (
    <span class="row">
      <span>{words.documents.fileGiven}</span>
      <Button size="small" icon="download" onClick={open}>
        {words.documents.open}
      </Button>
    </span>
  )
}

const AnswerField = ({ of }: { of: Requirement }) => (
  <div class="stack stack-close">
    <RequirementText of={of} />
    {of.documents.length > 0 ? (
      <FileField
        name={fieldOf(of)}
        label={`${words.documents.file}: ${words.documents.kinds[of.kind]}`}
        hint={words.documents.fileHint}
        accept={accepted}
        most={largestFile}
      />
    ) : (
      <TextareaField
        name={fieldOf(of)}
        label={`${words.documents.value}: ${words.documents.kinds[of.kind]}`}
        rows={2}
        maxLength={500}
      />
    )}
  </div>
)

/** Sends files first, and then all answers together. */
const useAnswers = (uuid: string) => {
  const [fault, setFault] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const sent = useRef<readonly number[]>([])
  // A file that was uploaded is not uploaded again when its answer was refused.
  const uploaded = useRef(new WeakMap<File, string>())
  const give = useAct('PUT /open/voip/virtual-numbers/:virtual_number_uuid/requirements', {
    stale: [
      'GET /open/voip/virtual-numbers/:virtual_number_uuid',
      'GET /open/voip/virtual-numbers/:virtual_number_uuid/requirements',
      'GET /open/voip/virtual-numbers/:virtual_number_uuid/timeline',
    ],
    after: () => showToast(words.documents.sent),
  })
  const upload = async (file: File, kind: Requirement['kind']): Promise<string> => {
    const known = uploaded.current.get(file)
    if (known) return known
    const reply = await uploadFile('POST /open/numbers/documents', file, {
      query: { name: file.name.slice(0, 200), kind },
    })
    // The reply of the contract uploadDocument.
    const { document } = reply as ReplyOf<'POST /open/numbers/documents'>
    uploaded.current.set(file, document.uuid)
    return document.uuid
  }
  const send = async (requirements: readonly Requirement[], data: FormData): Promise<void> => {
    setBusy(true)
    setFault(undefined)
    try {
      const answers: Answer[] = []
      for (const { id, kind } of requirements) {
        const entry = data.get(fieldOf({ id }))
        if (entry instanceof File && entry.size > 0)
          answers.push({ requirement_id: id, document_uuid: await upload(entry, kind) })
        if (typeof entry === 'string' && entry.trim() !== '') answers.push({ requirement_id: id, value: entry.trim() })
      }
      sent.current = answers.map(({ requirement_id }) => requirement_id)
      await give({ params: { virtual_number_uuid: uuid }, body: { requirements: answers } })
    } catch (error) {
      setFault(asApiError(error))
    } finally {
      setBusy(false)
    }
  }
  const error = fault ?? give.error ?? undefined
  const index = Number(/requirements[./](\d+)/.exec(error?.field ?? '')?.[1] ?? Number.NaN)
  const id = sent.current[index]
  const refusal =
    error && id !== undefined
      ? { message: error.message, requestId: error.requestId, fields: { [fieldOf({ id })]: error.message } }
      : error
  return { send, isBusy: isBusy || give.isPending, refusal }
}

const hasAnswer = (data: FormData): boolean =>
  [...data.values()].some((one) => (typeof one === 'string' ? one.trim() !== '' : one.size > 0))

const AnswersForm = ({ uuid, requirements }: { uuid: string; requirements: readonly Requirement[] }) => {
  const { send, isBusy, refusal } = useAnswers(uuid)
  const [isEmpty, setEmpty] = useState(false)
  return (
    <Form
      label={words.documents.title}
      refusal={refusal}
      onSubmit={(_, data) => {
        setEmpty(!hasAnswer(data))
        if (!isBusy && hasAnswer(data)) void send(requirements, data)
      }}
    >
      {requirements.map((one) => (
        <AnswerField key={one.id} of={one} />
      ))}
      {isEmpty && (
        <Banner tone="notice" live>
          {words.documents.chooseOne}
        </Banner>
      )}
      <FormActions>
        <Button type="submit" kind="primary" icon="send" busy={isBusy}>
          {words.documents.send}
        </Button>
      </FormActions>
    </Form>
  )
}

const AnswerList = ({ registration: { requirements, given: answers } }: { registration: Registration }) => {
  const rows = requirements.flatMap((requirement) => {
    const answer = answers.find(({ requirement_id }) => requirement_id === requirement.id)
    return answer ? [{ requirement, answer }] : []
  })
  if (rows.length === 0) return null
  return (
    <ul class="requirements" aria-label={words.documents.given}>
      {rows.map(({ requirement, answer }) => (
        <li key={requirement.id}>
          <RequirementText of={requirement} />
          <div class="row">
            <Status tone="info">{words.documents.given}</Status>
            <AnswerValue answer={answer} />
          </div>
        </li>
      ))}
    </ul>
  )
}

const Explain = ({ registration, number }: { registration: Registration; number: VirtualNumber }) => {
  const { state, reason, due_at, missing } = registration
  const day = due_at === undefined ? '' : format.day(due_at)
  const isSuspended = number.status_text === 'SUSPENDED'
  const banner = (tone: 'bad' | 'notice' | 'info', title: string, text: ComponentChildren) => (
    <Banner tone={tone} title={title} live>
      {text}
    </Banner>
  )
  if (state === 'refused')
    return banner(
      'bad',
      words.documents.refusedTitle,
      <>
        <p dir="auto">{reason}</p>
        <p>{isSuspended ? words.documents.refusedSuspended : words.documents.refusedDue(day)}</p>
      </>,
    )
  if (missing.length === 0) return banner('info', words.documents.waitingTitle, words.documents.waiting)
  if (isSuspended) return banner('bad', words.documents.suspendedTitle, words.documents.refusedSuspended)
  return banner('notice', words.documents.missingTitle(missing.length), words.documents.dueMissing(day))
}

/** The documents that the regulator requires: what is missing, until when, and what the operator decided. */
export const NumberDocuments = ({ number }: { number: VirtualNumber }) => {
  const { data, error, refresh } = useQuery('GET /open/voip/virtual-numbers/:virtual_number_uuid/requirements', {
    params: { virtual_number_uuid: number.uuid },
    live: numberEvents,
  })
  const registration = data?.data
  if (!registration) return error ? <ErrorState refusal={error} onRetry={refresh} /> : <Skeleton />
  const { state, missing, requirements } = registration
  if (state === 'none') return null
  if (state === 'approved')
    return (
      <Section title={words.documents.title}>
        <p>
          <Status tone="good">{words.documents.approved}</Status>
        </p>
      </Section>
    )
  const open = state === 'refused' ? requirements : missing
  return (
    <Section title={words.documents.title}>
      <Explain registration={registration} number={number} />
      <AnswerList registration={registration} />
      {open.length > 0 && (
        // After an answer or a decision the form begins empty.
        <AnswersForm key={`${state} ${open.length}`} uuid={number.uuid} requirements={open} />
      )}
    </Section>
  )
}
