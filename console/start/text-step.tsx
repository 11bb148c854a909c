import { useEffect, useState } from 'preact/hooks'
import { api, type ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { PhoneField, TextareaField } from '../parts/text-fields.tsx'
import { Timeline, type TimelineTone } from '../parts/timeline.tsx'
import { Money } from '../parts/values.tsx'
import { words } from '../words/en/start.ts'
import { handsetNumber, type Progress } from './progress.ts'
import { Request } from './request.tsx'

type Preview = ReplyOf<'POST /open/sms/preview'>
type Facts = ReplyOf<'GET /open/sms/message/:message_uuid/timeline'>

/** Price of a text, read a moment after the last letter. */
const usePreview = (to: string, text: string): Preview | undefined => {
  const [preview, setPreview] = useState<Preview>()
  useEffect(() => {
    setPreview(undefined)
    if (!/^\+\d{7,15}$/.test(to) || text === '' || !may('inbox')) return
    let isOld = false
    const timer = setTimeout(() => {
      // Without a price the request itself says why.
      const show = (found?: Preview) => isOld || setPreview(found)
      api('POST /open/sms/preview', { body: { to_number: to, text } }).then(show, () => show())
    }, 300)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [to, text])
  return preview
}

const toneOf = ({ what }: Facts['timeline'][number]): TimelineTone => {
  if (what === 'failed' || what === 'refused') return 'bad'
  return what === 'receipt' || what === 'accepted' ? 'good' : 'plain'
}

const endTones = { succeeded: 'good', in_progress: 'waiting', failed: 'bad' } as const

const MessageTimeline = ({ uuid }: { uuid: string }) => {
  const { data } = useQuery('GET /open/sms/message/:message_uuid/timeline', {
    params: { message_uuid: uuid },
    live: ['sms'],
  })
  if (!data) return null
  return (
    <Timeline
      label={words.text.timeline}
      steps={data.timeline.map((fact, index) => ({
        key: String(index),
        time: fact.at,
        title: fact.text,
        tone: toneOf(fact),
      }))}
      end={{
        tone: endTones[data.outcome.state],
        title: data.outcome.text,
        text: data.next_step.kind === 'none' ? '' : data.next_step.text,
      }}
    />
  )
}

/** The first text: to the handset of the page, or to the person's own telephone. */
export const TextStep = ({ progress, from }: { progress: Progress; from: string }) => {
  const [text, setText] = useState(words.text.hello)
  const [own, setOwn] = useState('')
  const to = progress.isSandbox ? handsetNumber : own
  const preview = usePreview(to, text)
  const [answer, setAnswer] = useState<unknown>()
  const send = useAct('POST /open/sms/send', { stale: ['GET /open/sms/messages'], after: setAnswer })
  const body = { from_number: from, to_number: to, text }
  const reason = !may('inbox') ? words.noRight : /^\+\d{7,15}$/.test(to) ? undefined : words.text.needsNumber
  const [last] = progress.sent
  return (
    <div class="stack">
      {!progress.isSandbox && <PhoneField name="to_number" label={words.text.to} value={own} onInput={setOwn} />}
      <TextareaField name="text" label={words.text.text} value={text} onInput={setText} rows={2} maxLength={1_600} />
      {preview && (
        <p>
          {words.text.price}: <Money amount={String(preview.price)} /> ({words.text.parts(preview.fragments)})
        </p>
      )}
      <Request
        label={words.text.request}
        example={{ method: 'POST', path: '/open/sms/send', body, call: 'sms.send', args: body }}
        act={last ? words.text.again : words.text.act}
        isDone={last !== undefined}
        reason={reason}
        onRun={() => void send({ body })}
        busy={send.isPending}
        error={send.error}
        answer={answer}
      />
      {last && (
        <>
          <h2 class="start-heading">{words.text.last}</h2>
          <p>
            {words.text.charged}: <Money amount={String(last.price)} />
          </p>
          <MessageTimeline uuid={last.uuid} />
        </>
      )}
    </div>
  )
}
