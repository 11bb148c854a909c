import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { type ApiError, asApiError } from '../api/errors.ts'
import { sameOrigin, uploadFile } from '../api/files.ts'
import { useAct, useList } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx'
import { FileField } from '../parts/file-field.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Section } from '../parts/page.tsx'
import { Empty } from '../parts/page-states.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy } from '../parts/values.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { words } from '../words/en/clips.ts'
import { words as parts } from '../words/en/parts.ts'
import { stopwatch } from '../words/format.ts'

type Clip = ReplyOf<'GET /open/voip/clips'>['clips'][number]

/** Bytes: the limit of the endpoint. */
const largestFile = 20 * 1024 * 1024

/** The file with a type: some systems know none for sounds. */
const typed = (file: File): File =>
  file.type === ''
    ? new File([file], file.name, { type: /\.mp3$/i.test(file.name) ? 'audio/mpeg' : 'audio/wav' })
    : file

const ClipForm = ({ onDone, onCancel }: { readonly onDone: () => void; readonly onCancel: () => void }) => {
  const [refusal, setRefusal] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const [file, setFile] = useState<File>()
  const submit = async (name: string): Promise<void> => {
    if (!file || isBusy) return
    setBusy(true)
    setRefusal(undefined)
    try {
      await uploadFile('POST /open/voip/clips', typed(file), { query: { name } })
      showToast(words.uploaded)
      onDone()
    } catch (error) {
      setRefusal(asApiError(error))
    }
    setBusy(false)
  }
  return (
    <Form onSubmit={({ name = '' }) => void submit(name)} refusal={refusal} label={words.upload}>
      <FileField
        name="file"
        label={words.file}
        hint={words.fileHint}
        accept=".wav,.mp3"
        most={largestFile}
        onFile={setFile}
        required
      />
      <TextField name="name" label={words.name} hint={words.nameHint} maxLength={200} required />
      <FormActions>
        <Button type="submit" kind="primary" icon="upload" busy={isBusy}>
          {words.upload}
        </Button>
        <Button onClick={onCancel}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

const columns = () => [
  { key: 'name', title: words.name, cell: ({ name }: Clip) => <span dir="auto">{name}</span> },
  {
    key: 'listen',
    title: words.listen,
    cell: (clip: Clip) => (
      // biome-ignore lint/a11y/useMediaCaption: the sounds of calls have no captions.
      <audio
        class="clip-audio"
        controls
        preload="none"
        src={sameOrigin(clip.url)}
        aria-label={words.listenTo(clip.name)}
      />
    ),
  },
  {
    key: 'seconds',
    title: words.length,
    cell: ({ seconds }: Clip) => (seconds === undefined ? '' : <span class="tabular">{stopwatch(seconds)}</span>),
  },
  { key: 'id', title: words.id, cell: ({ uuid }: Clip) => <Copy value={uuid} what={words.id} /> },
]

type ClipsProps = { readonly isUploading: boolean; readonly onUpload: () => void; readonly onClose: () => void }

/** The sounds that programs of the account play: to upload, to hear, and to delete. */
export const Clips = ({ isUploading, onUpload, onClose }: ClipsProps) => {
  const clips = useList('GET /open/voip/clips', {})
  const [removed, setRemoved] = useState<Clip>()
  const remove = useAct('DELETE /open/voip/clips/:clip_uuid', {
    stale: ['GET /open/voip/clips'],
    after: () => setRemoved(undefined),
  })
  const upload = may('numbers') && (
    <Button icon="upload" onClick={onUpload}>
      {words.upload}
    </Button>
  )
  return (
    <Section title={words.title} lead={words.about} actions={upload}>
      <ListTable
        of={clips}
        label={words.title}
        columns={columns()}
        rowKey={({ uuid }) => uuid}
        rowName={({ name }) => name}
        {...(may('numbers')
          ? {
              menu: (clip: Clip) => [
                { text: words.remove, icon: 'trash-2' as const, danger: true, onSelect: () => setRemoved(clip) },
              ],
            }
          : {})}
        empty={
          <Empty icon="volume-2" title={words.empty}>
            {words.emptyHint}
          </Empty>
        }
      />
      <Dialog open={isUploading} title={words.upload} onClose={onClose}>
        <ClipForm
          onDone={() => {
            clips.refresh()
            onClose()
          }}
          onCancel={onClose}
        />
      </Dialog>
      <ConfirmDialog
        open={removed !== undefined}
        title={words.removeTitle(removed?.name ?? '')}
        act={words.remove}
        danger
        busy={remove.isPending}
        error={remove.error?.message}
        onClose={() => {
          remove.reset()
          setRemoved(undefined)
        }}
        onConfirm={() => removed && void remove({ params: { clip_uuid: removed.uuid } })}
      >
        <p>{words.removeWhy}</p>
      </ConfirmDialog>
    </Section>
  )
}
