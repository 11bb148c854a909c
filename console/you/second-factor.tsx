import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { refreshSession } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Qr } from '../parts/qr.tsx'
import { Status } from '../parts/status.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, CopyButton } from '../parts/values.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/security.ts'

const { factor } = words

type NewSecret = ReplyOf<'POST /console/totp'>

/** Shows the code to scan, and asks for the first code of the app. */
const SetUp = ({ prepared, onCodes, onCancel }: SetUpProps) => {
  const verify = useAct('POST /console/totp/verify', {
    stale: ['GET /console/totp'],
    after: ({ recovery_codes }) => {
      onCodes(recovery_codes)
      // Accounts that require a second factor are open now.
      refreshSession()
    },
  })
  return (
    <Form
      label={factor.setUp}
      refusal={verify.error ?? undefined}
      onSubmit={({ code = '' }) => {
        if (!verify.isPending) void verify({ body: { code } })
      }}
    >
      <p>{factor.scan}</p>
      <Qr text={prepared.otpauth_url} label={factor.qr} />
      <p class="soft">{factor.byHand}</p>
      <p>
        <Copy value={prepared.secret} what={factor.secret} />
      </p>
      <TextField
        name="code"
        label={factor.code}
        hint={factor.codeHint}
        autocomplete="one-time-code"
        maxLength={10}
        required
        autofocus
        code
      />
      <FormActions>
        <Button type="submit" kind="primary" busy={verify.isPending}>
          {factor.activate}
        </Button>
        <Button onClick={onCancel}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

type SetUpProps = {
  readonly prepared: NewSecret
  readonly onCodes: (codes: readonly string[]) => void
  readonly onCancel: () => void
}

const Codes = ({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) => (
  <div class="stack">
    <Banner tone="notice">{factor.once}</Banner>
    <ul class="stack" aria-label={factor.codes}>
      {codes.map((code) => (
        <li key={code}>
          <code dir="ltr">{code}</code>
        </li>
      ))}
    </ul>
    <p class="row">
      <span>{factor.copyAll}</span>
      <CopyButton text={codes.join('\n')} what={factor.codes} />
    </p>
    <FormActions>
      <Button kind="primary" onClick={onDone} autofocus>
        {factor.stored}
      </Button>
    </FormActions>
  </div>
)

/** The authenticator app of the person. */
export const SecondFactor = () => {
  const state = useQuery('GET /console/totp', {})
  const [prepared, setPrepared] = useState<NewSecret>()
  const [codes, setCodes] = useState<readonly string[]>()
  const [isRemoving, setRemoving] = useState(false)
  const prepare = useAct('POST /console/totp', { after: setPrepared })
  const remove = useAct('DELETE /console/totp', {
    stale: ['GET /console/totp'],
    after: () => {
      setRemoving(false)
      showToast(factor.removed)
    },
  })
  const close = () => {
    setPrepared(undefined)
    setCodes(undefined)
  }
  return (
    <Section title={factor.title} lead={factor.about}>
      {state.error && !state.data ? (
        <ErrorState refusal={state.error} onRetry={state.refresh} />
      ) : !state.data ? (
        <Skeleton rows={2} />
      ) : state.data.active ? (
        <div class="stack">
          <p class="row">
            <Status tone="good">{factor.on}</Status>
            <span class="soft">{factor.left(state.data.recovery_codes_left)}</span>
          </p>
          <p>
            <Button icon="trash-2" onClick={() => setRemoving(true)}>
              {factor.remove}
            </Button>
          </p>
        </div>
      ) : (
        <div class="stack">
          <p class="row">
            <Status tone="neutral">{factor.off}</Status>
          </p>
          {prepare.error && <Banner tone="bad">{prepare.error.message}</Banner>}
          <p>
            <Button icon="smartphone" kind="primary" busy={prepare.isPending} onClick={() => void prepare({})}>
              {factor.setUp}
            </Button>
          </p>
        </div>
      )}
      <Dialog open={prepared !== undefined} title={codes ? factor.codes : factor.setUp} onClose={close}>
        {codes ? (
          <Codes codes={codes} onDone={close} />
        ) : (
          prepared && <SetUp prepared={prepared} onCodes={setCodes} onCancel={close} />
        )}
      </Dialog>
      <ConfirmDialog
        open={isRemoving}
        title={factor.removeTitle}
        act={factor.remove}
        danger
        busy={remove.isPending}
        error={remove.error?.message}
        onClose={() => setRemoving(false)}
        onConfirm={() => void remove({})}
      >
        <p>{factor.removeWhy}</p>
      </ConfirmDialog>
    </Section>
  )
}
